#include "worker/devices/cpu.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/philox.h"
#include "worker/devices/class_variables.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string CpuInfo(std::string_view vendor, std::string_view flags) {
  return "processor\t: 0\nvendor_id\t: " + std::string(vendor) +
         "\nmodel name\t: Model X: 3 GHz\nflags\t\t: " + std::string(flags) +
         "\n\nprocessor\t: 1\nvendor_id\t: Another\n";
}

std::vector<std::string> ClassesOf(std::string_view vendor, std::string_view flags) {
  return CpuClasses(ParseCpuInfo(CpuInfo(vendor, flags)));
}

TEST(CpuTest, OffersTheClassesThatTheProcessorHasTheFastestFirst) {
  EXPECT_THAT(ClassesOf("GenuineIntel", "fpu sse2 sse4_1 sse4_2"), ElementsAre("cpu-intel-sse"));
  EXPECT_THAT(ClassesOf("AuthenticAMD", "sse2 sse4_1 sse4_2 avx2 fma"),
              ElementsAre("cpu-amd-avx2", "cpu-amd-sse"));
  EXPECT_THAT(
      ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2 fma avx512f avx512bw avx512dq avx512vl"),
      ElementsAre("cpu-intel-avx512", "cpu-intel-avx2", "cpu-intel-sse"));
  EXPECT_THAT(ClassesOf("HygonGenuine", "sse2 sse4_1 sse4_2"), ElementsAre("cpu-other-sse"));
}

TEST(CpuTest, HalfAnInstructionSetIsNotOffered) {
  EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2"), ElementsAre("cpu-intel-sse"));
  for (const char* half : {"avx512f", "avx512f avx512bw avx512dq", "avx512f avx512bw avx512vl",
                           "avx512f avx512dq avx512vl", "avx512bw avx512dq avx512vl"}) {
    EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_1 sse4_2 avx2 fma " + std::string(half)),
                ElementsAre("cpu-intel-avx2", "cpu-intel-sse"))
        << half;
  }
  EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_1"), IsEmpty());
  EXPECT_THAT(ClassesOf("GenuineIntel", "sse2 sse4_2"), IsEmpty());
}

TEST(CpuTest, WhatAClassWouldNeedIsNamed) {
  const auto lacking = [](std::string_view flags, std::string_view hardware_class) {
    return LackingSet(ParseCpuInfo(CpuInfo("AuthenticAMD", flags)), hardware_class);
  };
  constexpr std::string_view kAvx2 = "sse4_1 sse4_2 avx2 fma avx512f avx512bw avx512dq";
  EXPECT_EQ(lacking(kAvx2, "cpu-amd-avx512"), "AVX-512");
  EXPECT_EQ(lacking(kAvx2, "cpu-intel-avx512"), "AVX-512") << "its vendor is another question";
  EXPECT_EQ(lacking(kAvx2, "cpu-amd-avx2"), "");
  EXPECT_EQ(lacking("sse4_1 sse4_2 avx2", "cpu-amd-avx2"), "AVX2 with FMA");
  EXPECT_EQ(lacking("sse4_1 sse4_2 avx2", "cpu-amd-sse"), "");
  EXPECT_EQ(lacking("sse4_1", "cpu-amd-sse"), "SSE4.2");
  EXPECT_EQ(lacking(std::string(kAvx2) + " avx512vl", "cpu-amd-avx512"), "");
  for (const char* other : {"", "nvidia-h200", "tpu-v4"}) EXPECT_EQ(lacking("", other), "");
}

TEST(CpuTest, ModelAndVendorAreThoseOfTheFirstProcessor) {
  const CpuFacts facts = ParseCpuInfo(CpuInfo("AuthenticAMD", "sse2"));
  EXPECT_EQ(facts.vendor, "amd");
  EXPECT_EQ(facts.model, "Model X: 3 GHz");
}

TEST(CpuTest, AnotherArchitectureHasNoClasses) {
  EXPECT_THAT(CpuClasses(ParseCpuInfo("processor : 0\nFeatures : asimd\n")), IsEmpty());
}

TEST(ClassVariablesTest, ACpuClassHasItsVariablesAndSeesNoGpu) {
  const auto variables = VariablesOf({.hardware_class = "cpu-intel-avx2", .gpu_uuid = "GPU-1"});
  ASSERT_TRUE(variables.ok());
  EXPECT_EQ(*variables, ParseHardwareClass("cpu-intel-avx2", true)->variables);
  EXPECT_EQ(variables->at("CUDA_VISIBLE_DEVICES"), "");
}

TEST(ClassVariablesTest, AGpuClassSeesItsOneDevice) {
  for (const bool fixed : {true, false}) {
    const auto variables =
        VariablesOf({.hardware_class = "nvidia-h200", .gpu_uuid = "GPU-1", .kernels_fixed = fixed});
    ASSERT_TRUE(variables.ok());
    Variables expected = ParseHardwareClass("nvidia-h200", fixed)->variables;
    expected["CUDA_VISIBLE_DEVICES"] = "GPU-1";
    EXPECT_EQ(*variables, expected);
  }
}

TEST(ClassVariablesTest, WhatIsNoClassAndAGpuClassWithoutAGpuAreRefused) {
  EXPECT_EQ(Message(VariablesOf({.hardware_class = "cpu-amd-neon"}).status()),
            "hardware_class: 'cpu-amd-neon'; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor "
            "intel, amd or other, nvidia-MODEL, or what a worker declares, such as tpu-v4");
  EXPECT_EQ(Message(VariablesOf({.hardware_class = "nvidia-h200"}).status()),
            "hardware class 'nvidia-h200': this slot has no GPU");
}

// The table is part of every stack's fingerprint: another text would unpin all stored cells.
TEST(ClassVariablesTest, TheTableIsTheOneThatFingerprintsWereMadeOf) {
  EXPECT_THAT(VariablesTable(), HasSubstr("cpu-amd-avx512 ATEN_CPU_CAPABILITY=avx512"));
  EXPECT_THAT(VariablesTable(), HasSubstr("nvidia fixed CUBLAS_WORKSPACE_CONFIG=:4096:8"));
  EXPECT_EQ(StreamOf(VariablesTable()), 0xf9dd5f6e25237f65u) << VariablesTable();
}

}  // namespace
}  // namespace noisefloor
