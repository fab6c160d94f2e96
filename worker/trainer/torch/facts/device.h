// The devices that a member trains on.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

// Opens libtorch_cuda.so, which registers CUDA with LibTorch. Must come before LibTorch is first
// asked about CUDA: it keeps the first answer. Unavailable when the library cannot be opened.
absl::Status OpenCuda();

// The first GPUs of those that CUDA shows, after OpenCuda (which it calls if nobody has), or the
// CPU as often as devices are asked for. Unavailable when there are fewer usable GPUs.
absl::StatusOr<std::vector<at::Device>> OpenDevices(bool gpu, int64_t count = 1);

}  // namespace noisefloor::trainer
