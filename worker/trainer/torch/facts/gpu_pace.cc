#include "worker/trainer/torch/facts/gpu_pace.h"

#include <utility>

namespace noisefloor::trainer {

GpuPace::GpuPace(const std::string& uuid, const std::string& library) {
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(library);
  if (!nvml.ok() || *nvml == nullptr) return;
  const absl::StatusOr<uint32_t> count = (*nvml)->DeviceCount();
  for (uint32_t i = 0; count.ok() && i < *count; ++i) {
    const auto device = (*nvml)->DeviceAt(i);
    if (!device.ok()) continue;
    const auto its = (*nvml)->Uuid(*device);
    if (its.ok() && *its == uuid) device_ = *device;
  }
  nvml_ = *std::move(nvml);
}

std::optional<Nvml::Pace> GpuPace::Now() const {
  if (device_ == nullptr) return std::nullopt;
  return nvml_->PaceOf(device_);
}

}  // namespace noisefloor::trainer
