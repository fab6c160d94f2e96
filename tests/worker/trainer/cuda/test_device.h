// Where the tests of kernels run them: rehearsed on the host, or, where NOISEFLOOR_KERNELS_ON names
// a CUDA driver (libcuda.so.1), on its first GPU. The same tests with the same answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/trainer/cuda/launcher.h"

namespace noisefloor::cuda {

class TestDevice {
 public:
  virtual ~TestDevice() = default;
  virtual KernelLauncher& launcher() = 0;
  // Whether orders are drawn, as on the host and by the driver that is none.
  virtual bool rehearsed() const = 0;
  // Memory that lives as long as the device.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void CopyIn(void* to, const void* from, size_t bytes) = 0;
  virtual void CopyOut(void* to, const void* from, size_t bytes) = 0;

  template <typename T>
  T* Put(const std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    T* memory = static_cast<T*>(Allocate(bytes));
    CopyIn(memory, values.data(), bytes);
    return memory;
  }
  template <typename T>
  std::vector<T> Get(const T* memory, size_t count) {
    std::vector<T> values(count);
    CopyOut(values.data(), memory, count * sizeof(T));
    return values;
  }
};

// `seed`: of a rehearsal's orders.
std::unique_ptr<TestDevice> MakeTestDevice(uint64_t seed);

}  // namespace noisefloor::cuda
