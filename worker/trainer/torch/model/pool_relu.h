// relu(maxpool2(x)): the same values as maxpool2(relu(x)), on a quarter of the elements.
#pragma once

#include <ATen/ATen.h>

#include "worker/trainer/fused/pool_relu.h"

namespace noisefloor::trainer {

// The best that LibTorch's own operations use in this process: what the hardware class set.
InstructionSet InstructionSetOfAten();

// Forward and backward each one pass on a CPU, for float images in channels_last; LibTorch's own
// operations otherwise. The bits of values and gradients are LibTorch's either way, for any number
// of threads. The result is channels_last.
at::Tensor PoolThenRelu(const at::Tensor& x);

}  // namespace noisefloor::trainer
