// The kernels' sources, compiled for the host.
#include "tests/worker/trainer/cuda/shim.h"
// After the shim.
#include "worker/trainer/cuda/kernels/kernels.cu"
// After the kernels, which must need nothing.
#include "tests/worker/trainer/cuda/rehearsal.h"

namespace noisefloor::cuda::rehearsal {

namespace {

template <auto kKernel, typename Arguments>
void Call(const void* arguments) {
  kKernel(*static_cast<const Arguments*>(arguments));
}

}  // namespace

Body BodyOf(Kernel kernel) {
  switch (kernel) {
    case Kernel::kAugmentImages: return Call<AugmentImages, AugmentArguments>;
    case Kernel::kDial: return Call<Dial, DialArguments>;
    case Kernel::kDropoutMask: return Call<DropoutMask, DropoutArguments>;
    case Kernel::kHashElements: return Call<HashElements, HashArguments>;
    case Kernel::kHashFinish: return Call<HashFinish, HashArguments>;
    case Kernel::kNoisySumRows: return Call<NoisySumRows, NoisySumArguments>;
  }
  return nullptr;
}

}  // namespace noisefloor::cuda::rehearsal
