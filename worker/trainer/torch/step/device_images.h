// A training split that lies on the device, and batches that our kernels make of it there: the host
// sends ranks and nothing else. The bits are Augmenter's.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/trainer/cuda/counted_launcher.h"
#include "worker/trainer/cuda/driver.h"
#include "worker/trainer/cuda/launcher.h"
#include "worker/trainer/cuda/requests.h"
#include "worker/trainer/data/loader.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {

// What runs our kernels on a GPU: both null where there is no driver, or no kernel for the GPU.
struct GpuKernels {
  std::unique_ptr<cuda::Driver> driver;
  std::unique_ptr<cuda::CountedLauncher> launcher;  // Borrows the driver.
};
// Nothing for a device that is no GPU, or where NOISEFLOOR_KERNELS is "off" (LibTorch's kernels
// alone, for comparisons: the bits are the same). Unavailable when the driver is there and fails;
// throws c10::OutOfMemoryError when the GPU has no room for them.
absl::StatusOr<GpuKernels> OpenGpuKernels(at::Device device);
// Of the GPU of this number, through the driver of this name.
absl::StatusOr<GpuKernels> OpenGpuKernels(const std::string& library, int index);
// On each of the devices.
absl::StatusOr<std::vector<GpuKernels>> OpenGpuKernels(const std::vector<at::Device>& devices);

// As ShardOptions has them: borrowed, null where the host does the work.
std::vector<cuda::KernelLauncher*> LaunchersOf(const std::vector<GpuKernels>& kernels);

// A copy of what lies on the host, for a step. The host goes on: from other memory than pinned it
// would wait until a GPU has done all that it was given, and LibTorch gives this memory to nobody
// else before it is copied.
at::Tensor SendTo(at::Device device, const at::Tensor& host);

// Load on any thread. Works on the device's default stream, as LibTorch does unless it is told
// otherwise.
class DeviceImages {
 public:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // CIFAR-10 has 150 MB.
  static bool Fits(const Split& split);

  // Copies the split. Borrows the launcher, whose memory is that of `device`.
  DeviceImages(const Split& split, const cuda::ImageRule& rule, const AugmentDraws& draws,
               at::Device device, cuda::KernelLauncher& launcher);

  // Examples [first, first + count) of the batch. Throws c10::Error when the launch fails.
  Examples Load(const Batch& batch, int64_t first, int64_t count) const;

 private:
  ImageShape shape_;
  at::Tensor images_;  // {examples, channels, height, width} uint8
  at::Tensor labels_;  // {examples} int64
  cuda::ImageRule rule_;
  AugmentDraws draws_;
  cuda::KernelLauncher* launcher_;
};

}  // namespace noisefloor::trainer
