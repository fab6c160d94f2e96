// Work done under a profiler: on a GPU its kernels and copies, on a CPU LibTorch's operations, both
// through Kineto; and what oneDNN chose for each primitive, through its verbose output. The time
// that is taken so is longer than without.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <vector>

#include "common/base/status.h"
#include "worker/trainer/torch/facts/kernel_times.h"

namespace noisefloor::trainer {

// Runs a function on each thread that does the work, other than the calling one.
using OnOtherThreads = std::function<void(const std::function<void()>&)>;

// Does `work` under the profiler. `on_others` may be empty. Unavailable, before `work` is done,
// when LibTorch cannot profile here. What `work` throws passes through.
absl::StatusOr<std::vector<KernelTime>> ProfileKernels(at::Device device,
                                                       const OnOtherThreads& on_others,
                                                       const std::function<void()>& work);

// Does `work` with oneDNN's verbose output on. As OutputOf (probe.h) otherwise.
absl::StatusOr<std::vector<KernelTime>> ProfilePrimitives(const std::function<void()>& work);

}  // namespace noisefloor::trainer
