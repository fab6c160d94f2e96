#include "worker/trainer/torch/facts/hardware.h"

#include <charconv>

namespace noisefloor::trainer {

absl::StatusOr<HardwareClass> HardwareOf(const Specification& specification) {
  if (specification.hardware_class.empty()) return HardwareClass();
  // A measurement has an arm with fixed kernels, whatever its plan says.
  const bool fixed = specification.measure.steps > 0 ||
                     specification.Source(NoiseSource::kKernels).state != SourceState::kFree;
  absl::StatusOr<HardwareClass> hardware = ParseHardwareClass(specification.hardware_class, fixed);
  if (!hardware.ok() || !hardware->declared) return hardware;
  return InvalidInput("hardware_class: this trainer knows processors and NVIDIA GPUs, not " +
                      specification.hardware_class);
}

absl::Status CheckGpuClass(std::string_view asked, const Json& gpu) {
  if (!gpu.is_object() || !gpu.contains("name") || !gpu.contains("memory_bytes")) {
    return MakeError(absl::StatusCode::kUnavailable, "the GPU does not say what it is");
  }
  const auto name = gpu["name"].get<std::string>();
  const auto memory = gpu["memory_bytes"].get<std::string>();
  uint64_t memory_bytes = 0;
  std::from_chars(memory.data(), memory.data() + memory.size(), memory_bytes);
  const std::string here = GpuClassOf(name, memory_bytes);
  if (here == asked) return absl::OkStatus();
  return InvalidInput("hardware_class: the member asks for " + std::string(asked) +
                      ", this GPU is " + here + " (" + name + ")");
}

}  // namespace noisefloor::trainer
