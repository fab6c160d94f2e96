#include "worker/trainer/torch/facts/own_gpu.h"

#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor::trainer {

namespace {

// CUDA says "GPU-..." of a part, too; NVML "MIG-...".
bool IsOf(const Nvml& nvml, Nvml::Handle device, std::string_view uuid) {
  const auto its = nvml.Uuid(device);
  const auto number = [](std::string_view text) { return text.substr(text.find('-') + 1); };
  return its.ok() && number(*its) == number(uuid);
}

}  // namespace

OwnGpu::OwnGpu(const std::string& uuid, const std::string& library) {
  if (uuid.empty()) return;
  absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(library);
  if (!nvml.ok() || *nvml == nullptr) return;
  const absl::StatusOr<uint32_t> count = (*nvml)->DeviceCount();
  for (uint32_t i = 0; count.ok() && i < *count; ++i) {
    const auto device = (*nvml)->DeviceAt(i);
    if (!device.ok()) continue;
    if (IsOf(**nvml, *device, uuid)) device_ = *device;
    for (const Nvml::Handle part : (*nvml)->Parts(*device).value_or(std::vector<Nvml::Handle>())) {
      if (!IsOf(**nvml, part, uuid)) continue;
      device_ = part;
      is_part_ = true;
    }
  }
  nvml_ = *std::move(nvml);
}

std::optional<Nvml::Pace> OwnGpu::Pace() const {
  if (device_ == nullptr) return std::nullopt;
  return nvml_->PaceOf(device_);
}

std::optional<GpuState> OwnGpu::State() const {
  if (device_ == nullptr) return std::nullopt;
  GpuState state;
  state.pace = nvml_->PaceOf(device_);
  state.milliwatts = nvml_->Milliwatts(device_);
  state.most_milliwatts = nvml_->MostMilliwatts(device_);
  state.celsius = nvml_->Celsius(device_);
  if (const auto free = nvml_->FreeMemoryBytes(device_); free.ok()) state.free_bytes = *free;
  state.processes = nvml_->ComputeProcesses(device_);
  state.errors = nvml_->UncorrectedErrors(device_);
  state.is_part = is_part_;
  return state;
}

}  // namespace noisefloor::trainer
