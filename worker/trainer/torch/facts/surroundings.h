// What nobody controls, looked at while a member trains: who else uses the processors and the GPU,
// how fast both run, and why not faster. It changes no bits, and explains times.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/trainer_protocol/json_reader.h"
#include "worker/trainer/torch/facts/own_gpu.h"

namespace noisefloor::trainer {

// Where the system says it.
struct SystemFolders {
  std::string proc = "/proc";
  std::string processors = "/sys/devices/system/cpu";
};

// One thread. What the system does not say is left out.
class Surroundings {
 public:
  static constexpr absl::Duration kEvery = absl::Seconds(10);

  // Looks for the first time. `gpu_uuid`: "" on a processor. `clock` outlives it.
  Surroundings(const Clock& clock, const std::string& gpu_uuid, SystemFolders folders = {},
               const std::string& nvml = kNvmlLibrary);

  // For between two steps: reads a clock, and looks where kEvery has passed since it did.
  void LookIfDue();

  // Looks for the last time. "others_share": of all processors' time, what others than this process
  // took, in the time between two looks; "stolen_share": what a hypervisor gave to others.
  Json Finish();

 private:
  // Figures of one kind.
  struct Range {
    double least = 0, most = 0, sum = 0;
    int64_t count = 0;
    void Add(double value);
  };
  // Seconds since the system started, over all processors; ours since we did.
  struct Times {
    double all = 0, busy = 0, stolen = 0, own = 0;
  };

  void Look();
  void LookAtProcessors();
  void LookAtGpu();
  Times ReadTimes() const;
  static void Put(Json& into, const char* key, const Range& range);
  Json ProcessorsJson() const;
  Json GpuJson() const;

  const Clock& clock_;
  const SystemFolders folders_;
  const OwnGpu gpu_;
  const int64_t throttled_before_;
  absl::Duration last_;
  Times times_;
  int64_t looks_ = 0;
  int64_t throttled_looks_ = 0;  // Of the GPU.
  uint64_t reasons_ = 0;
  GpuState state_;  // The last.
  Range load_, mhz_, available_, others_, stolen_;
  Range sm_mhz_, memory_mhz_, watts_, celsius_, free_, processes_;
};

}  // namespace noisefloor::trainer
