// The seam between what uses kernels and what runs them: a GPU's driver, or a rehearsal on the
// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/base/check.h"
#include "common/base/status.h"
#include "worker/trainer/cuda/kernel_table.h"

namespace noisefloor::cuda {

// Memory of the device that a launch touches. The driver does not look at it; a rehearsal refuses
// every access outside, and every write where none was promised.
struct Region {
  const void* begin = nullptr;
  size_t bytes = 0;
  bool written = false;
};

// One-dimensional: `grid` blocks of `block` threads. A value.
struct KernelLaunch {
  Kernel kernel{};
  uint32_t grid = 1;
  uint32_t block = 256;
  std::vector<std::byte> arguments;
  std::vector<Region> regions;

  template <typename Arguments>
  static KernelLaunch Of(Kernel kernel, uint32_t grid, uint32_t block, const Arguments& arguments,
                         std::vector<Region> regions) {
    NF_CHECK(FactsOf(kernel).argument_size == sizeof(Arguments));
    KernelLaunch launch{kernel, grid, block, std::vector<std::byte>(sizeof(Arguments)),
                        std::move(regions)};
    std::memcpy(launch.arguments.data(), &arguments, sizeof(Arguments));
    return launch;
  }
};

// Any thread. Launches of one launcher take effect in the order in which they were asked for.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  // OK: it is on its way; what it does is seen by later launches, and by copies of the same stream.
  virtual absl::Status Launch(const KernelLaunch& launch) = 0;
};

}  // namespace noisefloor::cuda
