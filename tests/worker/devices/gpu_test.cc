// What NVML tells of GPUs, good and bad: the library is tests/support/fake_gpus.
#include "worker/devices/gpu.h"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "worker/devices/gpu_health.h"
#include "worker/devices/host.h"
#include "worker/devices/nvml.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kGib = uint64_t{1} << 30;

class GpuTest : public testing::Test {
 protected:
  GpuTest() {
    std::string pattern = testing::TempDir() + "nf-gpus-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("NOISEFLOOR_FAKE_GPUS", (folder_ + "/script").c_str(), 1);
  }
  ~GpuTest() override {
    unsetenv("NOISEFLOOR_FAKE_GPUS");
    std::filesystem::remove_all(folder_);
  }

  GpuInventory Find(const std::string& script) const {
    std::ofstream(folder_ + "/script") << script;
    return FindGpus(FAKE_NVML);
  }
  // "uuid: fault" of each.
  static std::vector<std::string> FaultsOf(const GpuInventory& inventory) {
    std::vector<std::string> faults;
    for (const Gpu& gpu : inventory.gpus) faults.push_back(gpu.uuid + ": " + gpu.fault);
    return faults;
  }

  std::string folder_;
};

TEST(PaceTest, WhatSlowsAGpuDownAgainstItsWillIsThrottling) {
  for (const uint64_t reason : {0x4, 0x8, 0x20, 0x40, 0x80}) {
    EXPECT_TRUE((Nvml::Pace{.reasons = reason}).throttled()) << reason;
  }
  // Idle, clocks that its owner has set, others of a group.
  for (const uint64_t reason : {0x0, 0x1, 0x2, 0x10, 0x100}) {
    EXPECT_FALSE((Nvml::Pace{.reasons = reason}).throttled()) << reason;
  }
}

TEST_F(GpuTest, DevicesAreNamedWithTheirClassAndMemory) {
  const GpuInventory inventory = Find(
      "driver 570.1\n"
      "gpu GPU-1 name=NVIDIA_H200 gib=140\n"
      "gpu GPU-2 name=Tesla_V100 gib=32 processes=2 free_gib=1 capability=7.0\n");

  EXPECT_EQ(inventory.driver, "570.1");
  EXPECT_EQ(inventory.fault, "");
  ASSERT_EQ(inventory.gpus.size(), 2u);
  EXPECT_EQ(inventory.gpus[0].hardware_class, "nvidia-h200");
  EXPECT_EQ(inventory.gpus[0].note, "");
  EXPECT_EQ(inventory.gpus[1].uuid, "GPU-2");
  EXPECT_EQ(inventory.gpus[1].name, "Tesla V100");
  EXPECT_EQ(inventory.gpus[1].hardware_class, "nvidia-v100-32gb");
  EXPECT_EQ(inventory.gpus[1].memory_bytes, 32 * kGib);
  EXPECT_EQ(inventory.gpus[1].fault, "");
  EXPECT_EQ(inventory.gpus[1].note, "2 other processes use it");
  EXPECT_EQ(inventory.gpus[0].architecture, "") << "its driver does not say";
  EXPECT_EQ(inventory.gpus[1].architecture, "sm_70");
}

TEST_F(GpuTest, ItsPaceIsTheClocksAndWhyTheyAreNotHigher) {
  std::ofstream(folder_ + "/script")
      << "gpu GPU-1 name=NVIDIA_H200 gib=140 sm_mhz=1755 memory_mhz=2619 throttle=36\n"
         "gpu GPU-2 name=NVIDIA_H200 gib=140\n"
         "gpu GPU-3 name=NVIDIA_H200 gib=140 lost=1\n";
  const auto nvml = Nvml::Open(FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  EXPECT_EQ((*nvml)->PaceOf(*(*nvml)->DeviceAt(0)), (Nvml::Pace{1755, 2619, 36}));
  EXPECT_EQ((*nvml)->PaceOf(*(*nvml)->DeviceAt(1)), std::nullopt) << "it does not say";
  EXPECT_EQ((*nvml)->PaceOf(*(*nvml)->DeviceAt(2)), std::nullopt) << "it is gone";
}

TEST_F(GpuTest, OneThatIsLostKeepsNoneOfTheOthersAway) {
  const GpuInventory inventory = Find(
      "gpu GPU-1 name=NVIDIA_H200 gib=140 lost=1\n"
      "gpu GPU-2 name=NVIDIA_H200 gib=140\n");

  EXPECT_THAT(FaultsOf(inventory), ElementsAre("GPU-1: NVML: name: GPU is lost", "GPU-2: "));
}

TEST_F(GpuTest, BadMemoryIsAFault) {
  const GpuInventory inventory = Find(
      "gpu GPU-1 name=A100 gib=80 errors=3\n"
      "gpu GPU-2 name=A100 gib=80 rows=pending\n"
      "gpu GPU-3 name=A100 gib=80 rows=failed errors=1\n");

  EXPECT_THAT(
      FaultsOf(inventory),
      ElementsAre("GPU-1: 3 memory errors since its last reset could not be corrected",
                  "GPU-2: bad rows of its memory wait to be replaced: reset the GPU",
                  "GPU-3: a bad row of its memory could not be replaced: it needs service"));
}

TEST_F(GpuTest, OfADividedGpuThePartsAreThere) {
  const GpuInventory inventory = Find(
      "gpu GPU-1 name=NVIDIA_H200 gib=140 mig=1 capability=9.0\n"
      "gpu MIG-a name=NVIDIA_H200_MIG_1g.18gb gib=16 part_of=GPU-1\n"
      "gpu MIG-b name=NVIDIA_H200_MIG_3g.71gb gib=69 part_of=GPU-1\n"
      "gpu GPU-2 name=NVIDIA_H200 gib=140 mig=1\n"
      "gpu GPU-3 name=NVIDIA_H200 gib=140\n");

  EXPECT_THAT(
      FaultsOf(inventory),
      ElementsAre("MIG-a: ", "MIG-b: ", "GPU-2: MIG is on, and it has no instances", "GPU-3: "));
  EXPECT_EQ(inventory.gpus[0].hardware_class, "nvidia-h200-mig-1g-18gb");
  EXPECT_EQ(inventory.gpus[0].architecture, "sm_90") << "that of the whole";
  EXPECT_EQ(inventory.gpus[1].hardware_class, "nvidia-h200-mig-3g-71gb");
}

TEST_F(GpuTest, APartOfABadGpuIsBad) {
  const GpuInventory inventory = Find(
      "gpu GPU-1 name=NVIDIA_H200 gib=140 mig=1 rows=failed\n"
      "gpu MIG-a name=NVIDIA_H200_MIG_1g.18gb gib=16 part_of=GPU-1\n");

  EXPECT_THAT(FaultsOf(inventory),
              ElementsAre(HasSubstr("MIG-a: a bad row of its memory could not be replaced")));
}

TEST_F(GpuTest, ABadPartOfAGoodGpuIsBadAlone) {
  const GpuInventory inventory = Find(
      "gpu GPU-1 name=NVIDIA_H200 gib=140 mig=1\n"
      "gpu MIG-a name=NVIDIA_H200_MIG_1g.18gb gib=16 part_of=GPU-1 lost=1\n"
      "gpu MIG-b name=NVIDIA_H200_MIG_1g.18gb gib=16 part_of=GPU-1\n");

  EXPECT_THAT(FaultsOf(inventory), ElementsAre("MIG-a: NVML: name: GPU is lost", "MIG-b: "));
}

TEST_F(GpuTest, AMachineWithoutTheLibraryHasNoGpus) {
  const GpuInventory inventory = FindGpus("libthere-is-no-such-library.so.1");
  EXPECT_THAT(inventory.gpus, IsEmpty());
  EXPECT_EQ(inventory.fault, "");
}

TEST_F(GpuTest, ADriverThatDoesNotAnswerIsAFaultNotZeroGpus) {
  EXPECT_EQ(Find("nvml 9\ngpu GPU-1 name=H200 gib=140\n").fault, "NVML: init: Driver Not Loaded");
  EXPECT_EQ(Find("nvml 18\n").fault, "NVML: init: Driver/library version mismatch");
}

TEST_F(GpuTest, ALibraryThatIsNotNvmlIsAFault) {
  EXPECT_EQ(FindGpus("libm.so.6").fault, "libm.so.6: a function of NVML is missing");
}

TEST_F(GpuTest, VisibleDevicesAreChosenAsCudaDoes) {
  const std::vector<Gpu> gpus = {{"A", "GPU-aa11", 0, "x"}, {"B", "GPU-bb22", 0, "x"}};
  const auto names = [&](std::string_view visible) {
    std::string text;
    for (const Gpu& gpu : VisibleGpus(gpus, visible)) text += gpu.name;
    return text;
  };
  EXPECT_EQ(names("0,1"), "AB");
  EXPECT_EQ(names("1"), "B");
  EXPECT_EQ(names("GPU-bb22,GPU-aa"), "BA");
  EXPECT_EQ(names(""), "");
  EXPECT_EQ(names("-1"), "");
  EXPECT_EQ(names("1,7,0"), "B");
  EXPECT_EQ(names("1,,0"), "B");
  EXPECT_EQ(names("1x,0"), "");
}

TEST_F(GpuTest, ThisMachineCanBeReadWhateverItsDriverSays) {
  std::ofstream(folder_ + "/script") << "nvml 18\n";
  const auto host = ReadHost(FAKE_NVML);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_FALSE(host->name.empty());
  EXPECT_FALSE(host->cores.empty());
  EXPECT_EQ(host->gpus.fault, "NVML: init: Driver/library version mismatch");
  EXPECT_TRUE(ChooseClasses(*host, {}).ok()) << "processors are offered all the same";
}

TEST_F(GpuTest, TheirHealthIsToldWithWhatIsWrong) {
  Find(
      "gpu GPU-1 name=A100 gib=80 errors=3\n"
      "gpu GPU-2 name=A100 gib=80 lost=1\n"
      "gpu GPU-3 name=A100 gib=80 rows=failed\n");
  const GpuReport report = LookAtGpus(FAKE_NVML);
  EXPECT_EQ(report.problem, "");
  ASSERT_EQ(report.gpus.size(), 3u);
  EXPECT_EQ(report.gpus[0].model, "A100");
  EXPECT_EQ(report.gpus[0].uncorrected_errors, 3u);
  EXPECT_EQ(report.gpus[0].fault, "");
  EXPECT_EQ(report.gpus[1].problem, "NVML: name: GPU is lost");
  EXPECT_EQ(report.gpus[2].uncorrected_errors, 0u);
  EXPECT_EQ(report.gpus[2].fault,
            "a bad row of its memory could not be replaced: it needs service");

  Find("nvml 18\n");
  EXPECT_TRUE(LookAtGpus(FAKE_NVML).installed) << "it is there, and does not work";
  EXPECT_EQ(LookAtGpus(FAKE_NVML).problem, "NVML: init: Driver/library version mismatch");
}

TEST_F(GpuTest, TheirHealthIsToldWithFreeMemoryAndWhoComputes) {
  Find(
      "driver 570.1\n"
      "gpu GPU-1 name=NVIDIA_H200 gib=140\n"
      "gpu GPU-2 name=Tesla_V100 gib=32 processes=2 free_gib=1 process=" +
      std::to_string(getpid()) + "\n");
  const GpuReport report = LookAtGpus(FAKE_NVML);
  EXPECT_TRUE(report.installed);
  EXPECT_EQ(report.driver, "570.1");
  EXPECT_EQ(report.problem, "");
  ASSERT_EQ(report.gpus.size(), 2u);
  EXPECT_EQ(report.gpus[0].free_bytes, 140 * kGib);
  EXPECT_EQ(report.gpus[1].unit, "GPU-2");
  EXPECT_EQ(report.gpus[1].memory_bytes, 32 * kGib);
  EXPECT_EQ(report.gpus[1].free_bytes, kGib);
  EXPECT_EQ(report.gpus[1].processes, 2u);
  ASSERT_EQ(report.gpus[1].users.size(), 2u);
  EXPECT_EQ(report.gpus[1].users[0].process, getpid());
  EXPECT_NE(report.gpus[1].users[0].name, "");
  EXPECT_EQ(report.gpus[1].problem, "");
  EXPECT_FALSE(LookAtGpus("no-such-library.so").installed);
}

}  // namespace
}  // namespace noisefloor
