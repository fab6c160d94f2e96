// The few functions of CUDA's driver that our kernels need, opened at run time and declared here,
// so that neither its header nor a driver is needed to build. After NVIDIA's CUDA Driver API
// reference.
//
// Works in the device's primary context, which is LibTorch's: memory and streams are shared with
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"

namespace noisefloor::cuda {

using DevicePointer = uint64_t;

// Any thread. Failures are Unavailable, "CUDA driver: CALL: what it says"; out of memory is
// ResourceExhausted.
class Driver {
 public:
  using Module = void*;
  using Function = void*;

  // Null when `library` cannot be opened: no driver is installed. Unavailable when it is there and
  // shows no device of this number to this process.
  static absl::StatusOr<std::unique_ptr<Driver>> Open(const std::string& library, int device);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  std::pair<int, int> compute_capability() const { return capability_; }

  // Modules and functions live as long as the context.
  absl::StatusOr<Module> LoadModule(const void* image) const;
  absl::StatusOr<Function> FindFunction(Module module, const char* name) const;
  // On the device's legacy default stream. `arguments`: the kernel's only parameter.
  absl::Status Launch(Function function, uint32_t grid, uint32_t block,
                      const void* arguments) const;

  // Plain memory, for tests; a trainer's is LibTorch's.
  absl::StatusOr<DevicePointer> Allocate(size_t bytes) const;
  absl::Status Free(DevicePointer memory) const;
  absl::Status CopyIn(DevicePointer to, const void* from, size_t bytes) const;
  absl::Status CopyOut(void* to, DevicePointer from,
                       size_t bytes) const;  // After what was launched.

 private:
  struct Functions;
  Driver(void* library, std::unique_ptr<Functions> functions);
  absl::Status Find();
  absl::Status Start(int device);
  absl::Status Check(int result, const char* call) const;
  // The primary context becomes the calling thread's, if it is not.
  absl::Status Enter() const;

  void* const library_;
  const std::unique_ptr<Functions> functions_;
  void* context_ = nullptr;
  int device_ = 0;
  std::pair<int, int> capability_{0, 0};
};

}  // namespace noisefloor::cuda
