#include "worker/trainer/torch/facts/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <dlfcn.h>

#include <string>

namespace noisefloor::trainer {

absl::Status OpenCuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return absl::OkStatus();
  const char* reason = dlerror();
  return MakeError(absl::StatusCode::kUnavailable, std::string("opening libtorch_cuda.so: ") +
                                                       (reason ? reason : "unknown") +
                                                       " (deploy/setup --gpu installs it)");
}

absl::StatusOr<at::Device> OpenDevice(bool gpu) {
  if (!gpu) return at::Device(at::kCPU);
  NF_RETURN_IF_ERROR(OpenCuda());
  if (!at::globalContext().hasCUDA() || at::detail::getCUDAHooks().deviceCount() < 1) {
    return MakeError(absl::StatusCode::kUnavailable, "CUDA shows no GPU to this process");
  }
  return at::Device(at::kCUDA, 0);
}

}  // namespace noisefloor::trainer
