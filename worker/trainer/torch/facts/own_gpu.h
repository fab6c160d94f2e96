// The GPU of this process as NVML sees it, which is opened at run time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "worker/devices/nvml.h"

namespace noisefloor::trainer {

// The driver's library.
inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// What an older driver does not say is absent.
struct GpuState {
  std::optional<Nvml::Pace> pace;
  std::optional<uint32_t> milliwatts;
  std::optional<uint32_t> most_milliwatts;  // What it may draw.
  std::optional<uint32_t> celsius;
  std::optional<uint64_t> free_bytes;
  uint32_t processes = 0;  // That compute on it, this one too.
  uint64_t errors = 0;     // Of its memory since its last reset, which could not be corrected.
  bool is_part = false;    // Of a GPU that MIG divides.
};

// One thread. Without NVML, or the GPU in it, it never knows anything: that fails no training.
class OwnGpu {
 public:
  // `uuid`: as GpuJson (machine.h) has it, "GPU-..."; "" = there is none, and NVML is not opened.
  explicit OwnGpu(const std::string& uuid, const std::string& library = kNvmlLibrary);

  // How fast it is right now: two calls, for between two timed steps.
  std::optional<Nvml::Pace> Pace() const;
  std::optional<GpuState> State() const;

 private:
  std::unique_ptr<Nvml> nvml_;
  Nvml::Handle device_ = nullptr;
  bool is_part_ = false;
};

}  // namespace noisefloor::trainer
