#include "worker/trainer/cuda/kernel_table.h"

#include "worker/trainer/cuda/kernels/arguments.h"

namespace noisefloor::cuda {

const std::array<KernelFacts, 6>& AllKernels() {
  static constexpr std::array<KernelFacts, 6> kernels = {{
      {Kernel::kAugmentImages, "AugmentImages", false, sizeof(AugmentArguments)},
      {Kernel::kDial, "Dial", false, sizeof(DialArguments)},
      {Kernel::kDropoutMask, "DropoutMask", false, sizeof(DropoutArguments)},
      {Kernel::kHashElements, "HashElements", false, sizeof(HashArguments)},
      {Kernel::kHashFinish, "HashFinish", false, sizeof(HashArguments)},
      {Kernel::kNoisySumRows, "NoisySumRows", true, sizeof(NoisySumArguments)},
  }};
  return kernels;
}

const KernelFacts& FactsOf(Kernel kernel) { return AllKernels()[static_cast<size_t>(kernel)]; }

int ArchitectureFor(int major, int minor) {
  int best = 0;
  for (const int architecture : kArchitectures) {
    if (architecture / 10 == major && architecture % 10 <= minor) best = architecture;
  }
  return best;
}

}  // namespace noisefloor::cuda
