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

namespace {

// `asked`: a class of one GPU.
absl::Status CheckOne(std::string_view asked, const Json& gpu) {
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

}  // namespace

absl::Status CheckGpusShown(int64_t shown, int64_t devices) {
  if (shown >= devices) return absl::OkStatus();
  const std::string there =
      shown == 0 ? "no GPU" : std::to_string(shown) + (shown == 1 ? " GPU" : " GPUs");
  return MakeError(absl::StatusCode::kUnavailable,
                   "CUDA shows " + there + " to this process" +
                       (devices == 1 ? "" : ", the member trains on " + std::to_string(devices)));
}

absl::Status CheckGpuClass(std::string_view asked, const Json& gpus) {
  const GpuCount wanted = CountGpus(asked);
  NF_RETURN_IF_ERROR(CheckGpusShown(static_cast<int64_t>(gpus.size()), wanted.count));
  for (uint32_t i = 0; i < wanted.count; ++i) NF_RETURN_IF_ERROR(CheckOne(wanted.one, gpus[i]));
  return absl::OkStatus();
}

absl::Status CheckPrecision(std::string_view precision, const Json& gpu) {
  const bool tf32 = precision == "tf32";
  if (!gpu.is_object()) {
    if (!tf32) return absl::OkStatus();
    return InvalidInput("train.precision: tf32 is an arithmetic of GPUs, this is a processor");
  }
  if (!tf32 && precision != "bf16") return absl::OkStatus();
  const std::string capability = gpu.value("compute_capability", "");
  int major = 0;
  std::from_chars(capability.data(), capability.data() + capability.size(), major);
  if (major >= 8) return absl::OkStatus();
  return InvalidInput("train.precision: " + std::string(precision) +
                      " needs a GPU of compute capability 8.0 or more, this one has " +
                      (capability.empty() ? "none that it tells" : capability));
}

}  // namespace noisefloor::trainer
