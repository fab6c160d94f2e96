#include "worker/devices/cpu.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "worker/devices/class_variables.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string CpuInfo(std::string_view vendor, std::string_view flags) {
  return "processor\t: 0\nvendor_id\t: " + std::string(vendor) +
         "\nmodel name\t: Model X: 3 GHz\nflags\t\t: " + std::string(flags) +
         "\n\nprocessor\t: 1\nvendor_id\t: Another\n";
}

std::vector<std::string> ClassesOf(std::string_view vendor, std::string_view flags) {
  const auto facts = ParseCpuInfo(CpuInfo(vendor, flags));
  EXPECT_TRUE(facts.ok()) << facts.status();
  return facts.ok() ? CpuClasses(*facts) : std::vector<std::string>();
}

TEST(CpuTest, OffersTheClassesThatTheProcessorHas) {
  EXPECT_THAT(ClassesOf("GenuineIntel", "fpu sse2 sse4_1 sse4_2"), ElementsAre("cpu-intel-sse"));
  EXPECT_THAT(ClassesOf("AuthenticAMD", "sse2 sse4_1 sse4_2 avx2 fma"),
              ElementsAre("cpu-amd-sse", "cpu-amd-avx2"));
  EXPECT_THAT(
      ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2 fma avx512f avx512bw avx512dq avx512vl"),
      ElementsAre("cpu-intel-sse", "cpu-intel-avx2", "cpu-intel-avx512"));
  EXPECT_THAT(ClassesOf("HygonGenuine", "sse2 sse4_1 sse4_2"), ElementsAre("cpu-other-sse"));
}

TEST(CpuTest, HalfAnInstructionSetIsNotOffered) {
  EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2"), ElementsAre("cpu-intel-sse"));
  EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2 fma avx512f"),
              ElementsAre("cpu-intel-sse", "cpu-intel-avx2"));
}

TEST(CpuTest, ModelAndVendorAreThoseOfTheFirstProcessor) {
  const auto facts = ParseCpuInfo(CpuInfo("AuthenticAMD", "sse2"));
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->vendor, "amd");
  EXPECT_EQ(facts->model, "Model X: 3 GHz");
}

TEST(CpuTest, AnotherArchitectureIsRefused) {
  EXPECT_EQ(Message(ParseCpuInfo("processor : 0\nFeatures : asimd\n").status()),
            "/proc/cpuinfo names no flag sse2: expected an x86-64 processor");
}

TEST(ClassVariablesTest, EachClassLimitsEveryLibrary) {
  const auto avx2 = VariablesOf({.hardware_class = "cpu-intel-avx2"});
  ASSERT_TRUE(avx2.ok());
  EXPECT_EQ(avx2->at("ATEN_CPU_CAPABILITY"), "avx2");
  EXPECT_EQ(avx2->at("ONEDNN_MAX_CPU_ISA"), "AVX2");
  EXPECT_EQ(avx2->at("MKL_CBWR"), "AVX2");
  EXPECT_EQ(avx2->at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(avx2->at("OMP_NUM_THREADS"), "1");
  const auto sse = VariablesOf({.hardware_class = "cpu-amd-sse"});
  ASSERT_TRUE(sse.ok());
  EXPECT_EQ(sse->at("ATEN_CPU_CAPABILITY"), "default");
  EXPECT_EQ(sse->at("ONEDNN_MAX_CPU_ISA"), "SSE41");
}

TEST(ClassVariablesTest, MklGetsNoBranchThatItIgnoresOnAmd) {
  for (const char* set : {"sse", "avx2", "avx512"}) {
    const auto variables = VariablesOf({.hardware_class = std::string("cpu-amd-") + set});
    ASSERT_TRUE(variables.ok());
    EXPECT_THAT(variables->at("MKL_CBWR"), testing::AnyOf("AUTO", "COMPATIBLE"));
  }
}

TEST(ClassVariablesTest, AGpuClassSeesItsOneDevice) {
  const auto fixed = VariablesOf({.hardware_class = "nvidia-h200", .gpu_uuid = "GPU-1"});
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(fixed->at("CUDA_VISIBLE_DEVICES"), "GPU-1");
  EXPECT_EQ(fixed->at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(fixed->at("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  const auto free =
      VariablesOf({.hardware_class = "nvidia-h200", .gpu_uuid = "GPU-1", .kernels_fixed = false});
  ASSERT_TRUE(free.ok());
  EXPECT_FALSE(free->contains("CUBLAS_WORKSPACE_CONFIG"));
}

TEST(ClassVariablesTest, UnknownClassesAreRefused) {
  EXPECT_EQ(Message(VariablesOf({.hardware_class = "cpu-amd-neon"}).status()),
            "hardware class 'cpu-amd-neon': expected cpu-VENDOR-sse, -avx2 or -avx512 (vendor "
            "intel, amd or other), or nvidia-MODEL");
  EXPECT_EQ(Message(VariablesOf({.hardware_class = "nvidia-h200"}).status()),
            "hardware class 'nvidia-h200': this slot has no GPU");
}

TEST(ClassVariablesTest, TheTableNamesEveryClass) {
  EXPECT_THAT(VariablesTable(), HasSubstr("cpu-amd-avx512 ATEN_CPU_CAPABILITY=avx512"));
  EXPECT_THAT(VariablesTable(), HasSubstr("nvidia fixed CUBLAS_WORKSPACE_CONFIG=:4096:8"));
}

}  // namespace
}  // namespace noisefloor
