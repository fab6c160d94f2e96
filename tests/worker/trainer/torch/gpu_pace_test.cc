// The pace of this process's GPU, of several that NVML knows.
#include "worker/trainer/torch/facts/gpu_pace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace noisefloor::trainer {
namespace {

TEST(GpuPaceTest, IsThatOfTheGpuWithThatUuid) {
  const std::string script = testing::TempDir() + "nf-pace-script";
  std::ofstream(script)
      << "gpu GPU-1 name=NVIDIA_H200 gib=140 sm_mhz=100 memory_mhz=200\n"
         "gpu GPU-2 name=NVIDIA_H200 gib=140 sm_mhz=1755 memory_mhz=2619 throttle=4\n";
  setenv("NOISEFLOOR_FAKE_GPUS", script.c_str(), 1);
  EXPECT_EQ(GpuPace("GPU-2", FAKE_NVML).Now(), (Nvml::Pace{1755, 2619, 4}));
  EXPECT_EQ(GpuPace("GPU-3", FAKE_NVML).Now(), std::nullopt);
  EXPECT_EQ(GpuPace("GPU-2", "no such library").Now(), std::nullopt);
  unsetenv("NOISEFLOOR_FAKE_GPUS");
  std::filesystem::remove(script);
}

}  // namespace
}  // namespace noisefloor::trainer
