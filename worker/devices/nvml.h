// The few functions of NVML that are used, opened at run time and declared here, so that neither
// its header nor a driver is needed to build. After NVIDIA's NVML API reference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// One thread. Every failure is Unavailable, "NVML: CALL: what it says".
class Nvml {
 public:
  using Handle = void*;

  // Null when `library` cannot be opened: no driver is installed. Unavailable when it is there and
  // does not work.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const std::string& library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  absl::StatusOr<std::string> DriverVersion() const;
  absl::StatusOr<uint32_t> DeviceCount() const;
  absl::StatusOr<Handle> DeviceAt(uint32_t index) const;

  absl::StatusOr<std::string> Name(Handle device) const;
  absl::StatusOr<std::string> Uuid(Handle device) const;
  absl::StatusOr<uint64_t> MemoryBytes(Handle device) const;
  absl::StatusOr<uint64_t> FreeMemoryBytes(Handle device) const;

  // What an older driver or a lesser GPU cannot say is as if all were well.

  // Handles of its parts; nothing when the device is not divided (MIG is off).
  std::optional<std::vector<Handle>> Parts(Handle device) const;
  // Memory errors since its last reset that could not be corrected.
  uint64_t UncorrectedErrors(Handle device) const;
  // Why its memory needs a reset or a new board; "" = it does not.
  std::string MemoryFault(Handle device) const;
  uint32_t ComputeProcesses(Handle device) const;
  // Its compute capability as compilers write it: "sm_90"; "" = it does not say.
  std::string Architecture(Handle device) const;
  // How fast it is right now, and why not faster; nothing when it does not say.
  struct Pace {
    uint32_t sm_mhz = 0;
    uint32_t memory_mhz = 0;
    uint64_t reasons = 0;  // Bits of nvmlClocksThrottleReasons.
    // By a cap on power, a slow-down of the hardware, heat (two bits) or a power brake.
    bool throttled() const { return (reasons & (0x4 | 0x8 | 0x20 | 0x40 | 0x80)) != 0; }
    friend bool operator==(const Pace&, const Pace&) = default;
  };
  std::optional<Pace> PaceOf(Handle device) const;
  // What it draws, and what it may; its temperature. Nothing when it does not say.
  std::optional<uint32_t> Milliwatts(Handle device) const;
  std::optional<uint32_t> MostMilliwatts(Handle device) const;
  std::optional<uint32_t> Celsius(Handle device) const;
  // Their numbers, as the driver sees them: in a container not always those of /proc.
  std::vector<int> ComputeProcessNumbers(Handle device) const;

 private:
  struct Functions;
  Nvml(void* library, std::unique_ptr<Functions> functions);
  absl::Status Check(int result, std::string_view call) const;

  void* const library_;
  const std::unique_ptr<const Functions> functions_;
  bool initialised_ = false;
};

}  // namespace noisefloor
