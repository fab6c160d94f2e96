// How fast the GPU of this process is right now, by NVML, which is opened at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "worker/devices/nvml.h"

namespace noisefloor::trainer {

// The driver's library.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// One thread. Without NVML, or the GPU in it, it never knows anything: that fails no training.
class GpuPace {
 public:
  // `uuid`: as GpuJson (machine.h) has it, "GPU-...".
  explicit GpuPace(const std::string& uuid, const std::string& library = kNvmlLibrary);

  std::optional<Nvml::Pace> Now() const;

 private:
  std::unique_ptr<Nvml> nvml_;
  Nvml::Handle device_ = nullptr;
};

}  // namespace noisefloor::trainer
