// Our kernels where LibTorch reports failures.
#pragma once

#include <c10/util/Exception.h>

#include <string>

#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::trainer {

// Throws OutOfMemoryError where the driver says that a GPU is full, which in a status is how full
// disks are told.
inline void ThrowIfOutOfMemory(const absl::Status& status) {
  TORCH_CHECK_WITH(OutOfMemoryError, !absl::IsResourceExhausted(status),
                   std::string(status.message()));
}

// Throws c10::Error when a launch fails: OutOfMemoryError, or in the words by which the program
// knows a lost device.
inline void LaunchOrThrow(cuda::KernelLauncher& launcher, const cuda::KernelLaunch& launch) {
  const absl::Status status = launcher.Launch(launch);
  ThrowIfOutOfMemory(status);
  TORCH_CHECK(status.ok(), "CUDA error: ", std::string(status.message()));
}

}  // namespace noisefloor::trainer
