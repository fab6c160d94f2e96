#include "worker/trainer/torch/facts/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>

#include <string>

#include "worker/trainer/torch/facts/hardware.h"

namespace noisefloor::trainer {

absl::Status OpenCuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return absl::OkStatus();
  const char* reason = dlerror();
  return MakeError(absl::StatusCode::kUnavailable, std::string("opening libtorch_cuda.so: ") +
                                                       (reason ? reason : "unknown") +
                                                       " (deploy/setup --gpu installs it)");
}

absl::StatusOr<std::vector<at::Device>> OpenDevices(bool gpu, int64_t count) {
  if (!gpu) return std::vector<at::Device>(static_cast<size_t>(count), at::kCPU);
  NF_RETURN_IF_ERROR(OpenCuda());
  const int64_t shown =
      at::globalContext().hasCUDA() ? at::detail::getCUDAHooks().deviceCount() : 0;
  NF_RETURN_IF_ERROR(CheckGpusShown(shown, count));
  std::vector<at::Device> devices;
  for (int64_t i = 0; i < count; ++i) {
    devices.emplace_back(at::kCUDA, static_cast<c10::DeviceIndex>(i));
  }
  return devices;
}

}  // namespace noisefloor::trainer
