// The device that a member trains on.
#pragma once

#include <ATen/ATen.h>

#include "common/base/status.h"

namespace noisefloor::trainer {

// Opens libtorch_cuda.so, which registers CUDA with LibTorch. Must come before LibTorch is first
// asked about CUDA: it keeps the first answer. Unavailable when the library cannot be opened.
absl::Status OpenCuda();

// The GPU, after OpenCuda (which it calls if nobody has), or the CPU. Unavailable when there is no
// usable GPU.
absl::StatusOr<at::Device> OpenDevice(bool gpu);

}  // namespace noisefloor::trainer
