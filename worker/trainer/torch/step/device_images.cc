#include "worker/trainer/torch/step/device_images.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "worker/trainer/cuda/cubins.h"
#include "worker/trainer/cuda/driver_launcher.h"
#include "worker/trainer/torch/model/launch.h"

namespace noisefloor::trainer {

namespace {

template <typename T>
at::Tensor OnDevice(const Values<T>& values, at::ScalarType type, at::Device device) {
  // Copied also on a CPU: the tensor must not borrow what it is made of.
  const auto count = static_cast<int64_t>(values.size());
  return at::from_blob(const_cast<T*>(values.data()), {count}, type)
      .to(device, type, /*non_blocking=*/false, /*copy=*/true);
}

// In order.
at::Tensor ImagesOnDevice(const Split& split, at::Device device) {
  if (split.places.size() == 0) return OnDevice(split.images, at::kByte, device);
  const at::Tensor images = at::empty({static_cast<int64_t>(split.image_bytes())}, at::kByte);
  auto* next = images.mutable_data_ptr<uint8_t>();
  for (uint32_t example = 0; example < split.size(); ++example) {
    next = std::copy_n(split.Image(example), split.shape.pixels(), next);
  }
  return images.to(device);
}

absl::StatusOr<GpuKernels> OpenThrough(const std::string& library, int index) {
  GpuKernels kernels;
  NF_ASSIGN_OR_RETURN(kernels.driver, cuda::Driver::Open(library, index));
  if (kernels.driver == nullptr) return kernels;
  const auto [major, minor] = kernels.driver->compute_capability();
  if (cuda::ArchitectureFor(major, minor) == 0) return kernels;
  NF_ASSIGN_OR_RETURN(auto launcher,
                      cuda::DriverLauncher::Make(*kernels.driver, cuda::AllCubins()));
  kernels.launcher = std::make_unique<cuda::CountedLauncher>(std::move(launcher));
  return kernels;
}

}  // namespace

at::Tensor SendTo(at::Device device, const at::Tensor& host) {
  if (!device.is_cuda()) return host.clone();
  const at::Tensor pinned = at::empty(host.sizes(), host.options().pinned_memory(true));
  pinned.copy_(host);
  return pinned.to(device, host.scalar_type(), /*non_blocking=*/true);
}

absl::StatusOr<GpuKernels> OpenGpuKernels(const std::string& library, int index) {
  absl::StatusOr<GpuKernels> kernels = OpenThrough(library, index);
  ThrowIfOutOfMemory(kernels.status());
  return kernels;
}

absl::StatusOr<GpuKernels> OpenGpuKernels(at::Device device) {
  const char* wanted = std::getenv("NOISEFLOOR_KERNELS");
  const bool off = wanted != nullptr && std::string_view(wanted) == "off";
  if (!device.is_cuda() || off) return GpuKernels();
  const c10::DeviceGuard current(device);  // The driver makes its device the thread's.
  return OpenGpuKernels("libcuda.so.1", device.index());
}

absl::StatusOr<std::vector<GpuKernels>> OpenGpuKernels(const std::vector<at::Device>& devices) {
  std::vector<GpuKernels> all;
  for (const at::Device device : devices) {
    NF_ASSIGN_OR_RETURN(all.emplace_back(), OpenGpuKernels(device));
  }
  return all;
}

std::vector<cuda::KernelLauncher*> LaunchersOf(const std::vector<GpuKernels>& kernels) {
  std::vector<cuda::KernelLauncher*> launchers;
  for (const GpuKernels& own : kernels) launchers.push_back(own.launcher.get());
  return launchers;
}

bool DeviceImages::Fits(const Split& split) {
  return split.image_bytes() <= kMostBytes && split.shape.pixels() < int64_t{1} << 31;
}

DeviceImages::DeviceImages(const Split& split, const cuda::ImageRule& rule,
                           const AugmentDraws& draws, at::Device device,
                           cuda::KernelLauncher& launcher)
    : shape_(split.shape),
      images_(ImagesOnDevice(split, device)),
      labels_(OnDevice(split.labels, at::kLong, device)),
      rule_(rule),
      draws_(draws),
      launcher_(&launcher) {}

Examples DeviceImages::Load(const Batch& batch, int64_t first, int64_t count) const {
  const auto options = images_.options();
  // Ranks are below 2^31: the same bits as an int32.
  const at::Tensor ranks = SendTo(
      images_.device(),
      at::from_blob(const_cast<uint32_t*>(batch.examples.data() + first), {count}, at::kInt));
  const bool channels_last = rule_.layout == Layout::kNhwc;
  const std::vector<int64_t> sizes =
      channels_last ? std::vector{count, shape_.height, shape_.width, shape_.channels}
                    : std::vector{count, shape_.channels, shape_.height, shape_.width};
  const at::Tensor images = at::empty(sizes, options.dtype(at::kFloat));
  const at::Tensor labels = at::empty({count}, options.dtype(at::kLong));
  const cuda::ResidentSplit split{shape_, static_cast<uint64_t>(labels_.numel()),
                                  images_.const_data_ptr<uint8_t>(),
                                  labels_.const_data_ptr<int64_t>()};
  const cuda::ImageBatch made{
      .epoch = batch.epoch,
      .first_position = batch.first_position + static_cast<uint64_t>(first),
      .count = static_cast<uint32_t>(count),
      .examples = reinterpret_cast<const uint32_t*>(ranks.const_data_ptr<int32_t>()),
      .out = images.mutable_data_ptr<float>(),
      .labels = labels.mutable_data_ptr<int64_t>()};
  LaunchOrThrow(*launcher_, cuda::AugmentLaunch(split, rule_, draws_, made));
  // As NewImages of evaluate.cc, also when there is one channel.
  return {channels_last ? images.permute({0, 3, 1, 2}) : images, labels};
}

}  // namespace noisefloor::trainer
