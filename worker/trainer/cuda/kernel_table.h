// Which kernels of our own there are, and for which GPUs they are compiled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace noisefloor::cuda {

enum class Kernel : uint8_t {
  kAugmentImages,
  kDial,
  kDropoutMask,
  kHashElements,
  kHashFinish,
  kNoisySumRows,
};

struct KernelFacts {
  Kernel kernel;
  std::string_view name;   // Of the function in the module.
  bool noisy;              // Its bits depend on the order of threads; only such a one has atomics.
  uint32_t argument_size;  // Bytes of its struct of kernels/arguments.h.
};

inline constexpr size_t kKernels = 6;
// In the order of Kernel.
const std::array<KernelFacts, kKernels>& AllKernels();
const KernelFacts& FactsOf(Kernel kernel);

// Compute capabilities, major * 10 + minor, rising: P100, V100, T4, A100, RTX 30, RTX 40, H100 and
// H200, B200, RTX 50. A GPU runs code for its own major number and a minor number not above its
// own, so these serve every GPU from sm_60 on but those of major number 11 (Jetson Thor).
inline constexpr std::array<int, 9> kArchitectures = {60, 70, 75, 80, 86, 89, 90, 100, 120};

// The architecture whose code a GPU of this compute capability runs; 0 = there is none.
int ArchitectureFor(int major, int minor);

}  // namespace noisefloor::cuda
