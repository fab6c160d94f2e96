// What nobody controls, as the system and NVML tell it: from folders and GPUs that the test makes.
#include "worker/trainer/torch/facts/surroundings.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace noisefloor::trainer {
namespace {

// Stands still until it is moved.
class HandClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch(); }
  absl::Duration Steady() const override { return steady_; }
  void Advance(absl::Duration by) { steady_ += by; }

 private:
  absl::Duration steady_;
};

class SurroundingsTest : public testing::Test {
 protected:
  SurroundingsTest() {
    std::string pattern = testing::TempDir() + "nf-surroundings-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    setenv("NOISEFLOOR_FAKE_GPUS", (folder_ + "/gpus").c_str(), 1);
    Write("stat", "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 9 9 9 9\n");
    Write("loadavg", "0.50 7 7 1/100 4\n");
    Write("cpuinfo", "processor : 0\ncpu MHz\t\t: 2000.5\nprocessor : 1\ncpu MHz\t\t: 3000.5\n");
    Write("meminfo", "MemTotal: 9 kB\nMemAvailable:    2048 kB\n");
    Throttled(0, 5);
    Throttled(1, 2);
  }
  ~SurroundingsTest() override {
    unsetenv("NOISEFLOOR_FAKE_GPUS");
    std::filesystem::remove_all(folder_);
  }

  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ + "/" + name) << content;
  }
  void Throttled(int core, int times) const {
    const std::string name = "cpu" + std::to_string(core) + "/thermal_throttle";
    std::filesystem::create_directories(folder_ + "/" + name);
    Write(name + "/core_throttle_count", std::to_string(times) + "\n");
  }
  // Seconds by column of /proc/stat.
  void Stat(int user, int idle, int wait, int steal) const {
    const auto ticks = [&](int seconds) {
      return std::to_string(seconds * sysconf(_SC_CLK_TCK)) + " ";
    };
    Write("stat", "cpu  " + ticks(user) + "0 0 " + ticks(idle) + ticks(wait) + "0 0 " +
                      ticks(steal) + "0 0\n");
  }
  Surroundings Start(const std::string& gpu = "") const {
    return Surroundings(clock_, gpu, {folder_, folder_}, FAKE_NVML);
  }

  std::string folder_;
  HandClock clock_;
};

TEST_F(SurroundingsTest, WhatOthersTakeIsWhatIsBusyAndNotOurs) {
  Surroundings surroundings = Start();
  // 1000 s of all processors: 300 busy, of which ours are next to none; 100 stolen.
  Stat(300, 500, 100, 100);
  clock_.Advance(absl::Seconds(10));
  surroundings.LookIfDue();
  Stat(400, 1400, 100, 100);  // Of 1000 more 100.
  const Json processors = surroundings.Finish()["processors"];
  const auto share = [&](const char* kind, const char* which) {
    return processors[kind][which].get<double>();
  };
  EXPECT_NEAR(share("others_share", "most"), 0.3, 0.01);
  EXPECT_NEAR(share("others_share", "least"), 0.1, 0.01);
  EXPECT_NEAR(share("others_share", "mean"), 0.2, 0.01);
  EXPECT_NEAR(share("stolen_share", "most"), 0.1, 1e-9);
  EXPECT_NEAR(share("stolen_share", "least"), 0, 1e-9);
}

TEST_F(SurroundingsTest, OwnWorkIsNotThatOfOthers) {
  Surroundings surroundings = Start();
  const auto used = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double before = used();
  while (used() - before < 1.05) {
  }
  Stat(1, 0, 0, 0);  // All of one second was busy, and we were.
  EXPECT_EQ(surroundings.Finish()["processors"]["others_share"]["most"], 0);
}

TEST_F(SurroundingsTest, LooksAgainWhenTenSecondsHavePassed) {
  Surroundings surroundings = Start();
  surroundings.LookIfDue();
  clock_.Advance(absl::Seconds(9));
  surroundings.LookIfDue();  // Not due: 2.5 would be seen.
  Write("loadavg", "2.5 0 0\n");
  clock_.Advance(absl::Seconds(1));
  surroundings.LookIfDue();
  Write("loadavg", "1.5 0 0\n");
  Write("cpuinfo", "cpu MHz : 500\n");
  Write("meminfo", "MemAvailable: 1024 kB\n");
  Throttled(1, 4);
  const Json seen = surroundings.Finish();
  EXPECT_EQ(seen["looks"], 3);
  EXPECT_FALSE(seen.contains("gpu"));
  const Json& processors = seen["processors"];
  EXPECT_EQ(processors["load"], (Json{{"least", 0.5}, {"mean", 1.5}, {"most", 2.5}}));
  EXPECT_EQ(processors["mhz"]["most"], 2500.5);  // The mean of both.
  EXPECT_EQ(processors["mhz"]["least"], 500);
  EXPECT_EQ(processors["available_mib"], (Json{{"least", 1}, {"mean", 5.0 / 3}, {"most", 2}}));
  EXPECT_EQ(processors["throttled"], 2) << "since the training began";
  EXPECT_FALSE(processors.contains("others_share")) << "of no time there is no share";
}

TEST_F(SurroundingsTest, ASystemThatHasSlowedNoCoreSaysSo) {
  Throttled(0, 0);
  Throttled(1, 0);
  EXPECT_EQ(Start().Finish()["processors"].value("throttled", -1), 0);
}

TEST_F(SurroundingsTest, WhatASystemDoesNotSayIsLeftOut) {
  std::filesystem::remove_all(folder_);
  Surroundings surroundings = Start("GPU-1");
  EXPECT_EQ(surroundings.Finish(), (Json{{"looks", 2}, {"processors", Json::object()}}));
}

TEST_F(SurroundingsTest, TheGpuIsThatWithTheUuidOfThisProcess) {
  const std::string other = "gpu GPU-1 name=NVIDIA_H200 gib=140 sm_mhz=100 memory_mhz=200\n";
  const std::string own = "gpu GPU-2 name=NVIDIA_H200 gib=140 free_gib=10 memory_mhz=2619 ";
  Write("gpus", other + own + "sm_mhz=1755 throttle=4 milliwatts=500000 celsius=50 processes=3\n");
  Surroundings surroundings = Start("GPU-2");
  Write("gpus", other + own +
                    "sm_mhz=1000 throttle=1 milliwatts=700000 most_milliwatts=650500 celsius=70 "
                    "processes=1 errors=6\n");  // 1: idle, which slows nothing that runs.
  const Json gpu = surroundings.Finish()["gpu"];
  EXPECT_EQ(gpu["looks"], 2);
  EXPECT_EQ(gpu["sm_mhz"], (Json{{"least", 1000}, {"mean", 1377.5}, {"most", 1755}}));
  EXPECT_EQ(gpu["memory_mhz"]["least"], 2619);
  EXPECT_EQ(gpu["throttled_looks"], 1);
  EXPECT_EQ(gpu["throttle_reasons"], 5);
  EXPECT_EQ(gpu["watts"], (Json{{"least", 500}, {"mean", 600}, {"most", 700}}));
  EXPECT_EQ(gpu["most_watts"], 650.5);
  EXPECT_EQ(gpu["celsius"]["most"], 70);
  EXPECT_EQ(gpu["free_mib"]["most"], 10240);
  EXPECT_EQ(gpu["processes"]["most"], 3);
  EXPECT_EQ(gpu["errors"], 6);
  EXPECT_EQ(gpu["mig"], false);
}

TEST_F(SurroundingsTest, APartOfAGpuIsFoundByItsOwnNumber) {
  Write("gpus",
        "gpu GPU-1 name=NVIDIA_H200 gib=140 mig=1 sm_mhz=100 memory_mhz=200\n"
        "gpu MIG-7 name=NVIDIA_H200 gib=20 part_of=GPU-1\n");
  Surroundings surroundings = Start("GPU-7");  // As CUDA calls it.
  const Json gpu = surroundings.Finish()["gpu"];
  EXPECT_EQ(gpu["mig"], true);
  EXPECT_EQ(gpu["free_mib"]["least"], 20480);
  EXPECT_FALSE(gpu.contains("sm_mhz")) << "a part does not say";
}

TEST_F(SurroundingsTest, ItsPaceIsThatOfTheGpuWithThatUuid) {
  Write("gpus",
        "gpu GPU-1 name=NVIDIA_H200 gib=140 sm_mhz=100 memory_mhz=200\n"
        "gpu GPU-2 name=NVIDIA_H200 gib=140 sm_mhz=1755 memory_mhz=2619 throttle=4\n");
  EXPECT_EQ(OwnGpu("GPU-2", FAKE_NVML).Pace(), (Nvml::Pace{1755, 2619, 4}));
  EXPECT_EQ(OwnGpu("GPU-3", FAKE_NVML).Pace(), std::nullopt);
  EXPECT_EQ(OwnGpu("GPU-2", "no such library").Pace(), std::nullopt);
}

}  // namespace
}  // namespace noisefloor::trainer
