#include "worker/devices/gpu.h"

#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "worker/devices/host.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kGib = uint64_t{1} << 30;

TEST(GpuTest, NvmlIsOpenedAtRunTimeAndItsDevicesAreNamed) {
  const auto inventory = FindGpus(FAKE_NVML);

  ASSERT_TRUE(inventory.ok()) << inventory.status();
  EXPECT_EQ(inventory->driver, "575.57.08");
  ASSERT_EQ(inventory->gpus.size(), 2u);
  EXPECT_EQ(inventory->gpus[1].uuid, "GPU-2");
  EXPECT_EQ(inventory->gpus[1].name, "Tesla V100");
  EXPECT_EQ(inventory->gpus[1].hardware_class, "nvidia-v100-32gb");
  EXPECT_EQ(inventory->gpus[1].memory_bytes, 32 * kGib);
}

TEST(GpuTest, AMachineWithoutTheLibraryHasNoGpus) {
  const auto inventory = FindGpus("libthere-is-no-such-library.so.1");
  ASSERT_TRUE(inventory.ok());
  EXPECT_THAT(inventory->gpus, IsEmpty());
}

TEST(GpuTest, ADriverThatDoesNotAnswerIsAnErrorNotZeroGpus) {
  setenv("FAKE_NVML_FAILS", "1", 1);
  const auto inventory = FindGpus(FAKE_NVML);
  unsetenv("FAKE_NVML_FAILS");
  EXPECT_EQ(Message(inventory.status()), "NVML: init: Driver Not Loaded");
}

TEST(GpuTest, ALibraryThatIsNotNvmlIsRefused) {
  EXPECT_EQ(Message(FindGpus("libm.so.6").status()), "libm.so.6: a function of NVML is missing");
}

TEST(GpuTest, VisibleDevicesAreChosenAsCudaDoes) {
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
}

Host TestHost() {
  Host host;
  host.name = "box";
  host.cpu = {"amd", "EPYC", {"sse2", "sse4_1", "sse4_2", "avx2", "fma"}};
  return host;
}

TEST(HostTest, OffersEverythingUnlessTold) {
  const auto all = ChooseClasses(TestHost(), {});
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(
      *all, ElementsAre(OfferedClass{"cpu-amd-avx2", "EPYC"}, OfferedClass{"cpu-amd-sse", "EPYC"}));
  const auto one = ChooseClasses(TestHost(), {"cpu-amd-avx2"});
  ASSERT_TRUE(one.ok());
  EXPECT_THAT(*one, ElementsAre(OfferedClass{"cpu-amd-avx2", "EPYC"}));
}

TEST(HostTest, AClassTheMachineLacksIsRefusedByName) {
  EXPECT_EQ(Message(ChooseClasses(TestHost(), {"cpu-amd-avx512"}).status()),
            "hardware class 'cpu-amd-avx512': this machine has cpu-amd-avx2, cpu-amd-sse");
}

TEST(HostTest, GpusOfTwoModelsNeedTwoWorkers) {
  Host host = TestHost();
  host.gpus.gpus = {{"H200", "GPU-1", 0, "nvidia-h200"}, {"T4", "GPU-2", 0, "nvidia-t4"}};

  EXPECT_EQ(Message(ChooseClasses(host, {}).status()),
            "this machine has GPUs of several classes (nvidia-h200, nvidia-t4): start one worker "
            "for each, with --classes");

  const auto one = ChooseClasses(host, {"nvidia-t4"});
  ASSERT_TRUE(one.ok());
  const std::vector<Gpu> gpus = ChooseGpus(host, *one);
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(UnitOf(host, gpus), "GPU-2");
  EXPECT_EQ(UnitOf(host, {}), "box EPYC");
}

TEST(HostTest, ThisMachineCanBeRead) {
  const auto host = ReadHost(FAKE_NVML);
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_FALSE(host->name.empty());
  EXPECT_FALSE(host->cores.empty());
  EXPECT_TRUE(ChooseClasses(*host, {}).ok());
}

}  // namespace
}  // namespace noisefloor
