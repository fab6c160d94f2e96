// What a specification's hardware class asks of this process. Pure.
#pragma once

#include <string_view>

#include "common/base/status.h"
#include "common/trainer_protocol/hardware_class.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor::trainer {

// Without a class: this CPU as it is, nothing asked. InvalidArgument for a name that is no class's.
absl::StatusOr<HardwareClass> HardwareOf(const Specification& specification);

// Unavailable unless CUDA shows this process as many GPUs as the member trains on, or more.
absl::Status CheckGpusShown(int64_t shown, int64_t devices);

// `gpus`: those that CUDA shows, as GpusJson describes them, of which the class is about the first.
// InvalidArgument when one is of another class, Unavailable when there are fewer than the class has
// or one does not say what it is.
absl::Status CheckGpuClass(std::string_view asked, const Json& gpus);

// `gpu`: as above; null on a processor. InvalidArgument for an arithmetic that this device does not
// have: tf32 and bf16 need a GPU's compute capability 8.0, processors have bf16 and no tf32.
absl::Status CheckPrecision(std::string_view precision, const Json& gpu);

}  // namespace noisefloor::trainer
