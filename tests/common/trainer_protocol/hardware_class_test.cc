#include "common/trainer_protocol/hardware_class.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(HardwareClassTest, EachCpuClassLimitsEveryLibrary) {
  const auto avx2 = ParseHardwareClass("cpu-intel-avx2", true);
  ASSERT_TRUE(avx2.ok());
  EXPECT_FALSE(avx2->gpu);
  EXPECT_EQ(avx2->vendor, "intel");
  EXPECT_EQ(avx2->variables.at("ATEN_CPU_CAPABILITY"), "avx2");
  EXPECT_EQ(avx2->variables.at("ONEDNN_MAX_CPU_ISA"), "AVX2");
  EXPECT_EQ(avx2->variables.at("MKL_CBWR"), "AVX2");
  EXPECT_EQ(avx2->variables.at("CUDA_VISIBLE_DEVICES"), "");
  EXPECT_EQ(avx2->variables.at("OMP_NUM_THREADS"), "1");
  const auto sse = ParseHardwareClass("cpu-amd-sse", true);
  ASSERT_TRUE(sse.ok());
  EXPECT_EQ(sse->vendor, "amd");
  EXPECT_EQ(sse->variables.at("ATEN_CPU_CAPABILITY"), "default");
  EXPECT_EQ(sse->variables.at("ONEDNN_MAX_CPU_ISA"), "SSE41");
}

TEST(HardwareClassTest, ClassesSayWhatLibTorchAnswersThen) {
  EXPECT_EQ(ParseHardwareClass("cpu-amd-sse", true)->aten_capability, "DEFAULT");
  EXPECT_EQ(ParseHardwareClass("cpu-amd-avx2", true)->aten_capability, "AVX2");
  EXPECT_EQ(ParseHardwareClass("cpu-intel-avx512", true)->aten_capability, "AVX512");
}

TEST(HardwareClassTest, MklGetsNoBranchThatItIgnoresOnAmd) {
  for (const char* set : {"sse", "avx2", "avx512"}) {
    const auto hardware = ParseHardwareClass(std::string("cpu-amd-") + set, true);
    ASSERT_TRUE(hardware.ok());
    EXPECT_THAT(hardware->variables.at("MKL_CBWR"), testing::AnyOf("AUTO", "COMPATIBLE"));
  }
}

TEST(HardwareClassTest, AGpuClassAsksCublasForAWorkspaceOnlyWhenKernelsAreFixed) {
  const auto fixed = ParseHardwareClass("nvidia-h200", true);
  ASSERT_TRUE(fixed.ok());
  EXPECT_TRUE(fixed->gpu);
  EXPECT_EQ(fixed->variables.at("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_EQ(fixed->variables.at("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  const auto free = ParseHardwareClass("nvidia-h200", false);
  ASSERT_TRUE(free.ok());
  EXPECT_FALSE(free->variables.contains("CUBLAS_WORKSPACE_CONFIG"));
}

TEST(HardwareClassTest, OtherNamesAreRefused) {
  for (const char* name : {"", "cpu-amd-avx", "cpu-arm-neon", "nvidia-", "gpu", "cpu-intel"}) {
    EXPECT_FALSE(IsGpuClass(name));
    EXPECT_EQ(Message(ParseHardwareClass(name, true).status()),
              "hardware_class: '" + std::string(name) +
                  "'; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel, amd or other, "
                  "nvidia-MODEL, or what a worker declares, such as tpu-v4");
  }
}

TEST(HardwareClassTest, ANameThatAWorkerDeclaresIsAClassWithoutFurtherMeaning) {
  for (const char* name : {"tpu-v4", "mi300", "arm-neoverse", "gaudi2.hl-225"}) {
    const auto hardware = ParseHardwareClass(name, true);
    ASSERT_TRUE(hardware.ok()) << hardware.status();
    EXPECT_TRUE(hardware->declared) << name;
    EXPECT_FALSE(hardware->gpu);
    EXPECT_EQ(hardware->variables.at("OMP_NUM_THREADS"), "1");
    EXPECT_FALSE(hardware->variables.contains("CUDA_VISIBLE_DEVICES"));
    EXPECT_FALSE(IsGpuClass(name));
  }
  for (const char* name : {"al", "tpu", "TPU-v4", "tpu-", "4tpu", "-tpu4", "tpu v4", "tpu_v4"}) {
    EXPECT_FALSE(ParseHardwareClass(name, true).ok()) << name;
  }
  EXPECT_FALSE(ParseHardwareClass(std::string(101, 'a') + "1", true).ok());
  EXPECT_FALSE(ParseHardwareClass("cpu-amd-avx2", true)->declared);
}

TEST(HardwareClassTest, EveryListedCpuClassIsOne) {
  EXPECT_EQ(AllCpuClasses().size(), 9u);
  for (const std::string& name : AllCpuClasses()) {
    EXPECT_TRUE(ParseHardwareClass(name, true).ok()) << name;
  }
}

TEST(GpuClassTest, NamesModelAndMemoryButNotTheFormFactor) {
  EXPECT_EQ(GpuClassOf("NVIDIA H200", 141 * kGib), "nvidia-h200");
  EXPECT_EQ(GpuClassOf("Tesla V100-SXM2-32GB", 32 * kGib), "nvidia-v100-32gb");
  EXPECT_EQ(GpuClassOf("Tesla V100-PCIE-16GB", 16 * kGib), "nvidia-v100-16gb");
  EXPECT_EQ(GpuClassOf("NVIDIA A100-SXM4-80GB", 80 * kGib), "nvidia-a100-80gb");
  EXPECT_EQ(GpuClassOf("NVIDIA A100-PCIE", 40 * kGib - 700 * 1024 * 1024), "nvidia-a100-40gb");
  EXPECT_EQ(GpuClassOf("NVIDIA H100 80GB HBM3", 80 * kGib), "nvidia-h100-80gb");
  EXPECT_EQ(GpuClassOf("NVIDIA GeForce RTX 4090", 24 * kGib), "nvidia-rtx-4090");
  EXPECT_EQ(GpuClassOf("Tesla P100-PCIE", 16 * kGib), "nvidia-p100-16gb");
  EXPECT_EQ(GpuClassOf("Tesla T4", 16 * kGib), "nvidia-t4");
  EXPECT_EQ(GpuClassOf("NVIDIA H200 MIG 1g.18gb", 18 * kGib), "nvidia-h200-mig-1g-18gb");
}

}  // namespace
}  // namespace noisefloor
