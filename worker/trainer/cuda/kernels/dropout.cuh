// Masks of DropoutDraws::Fill: one Philox block makes four elements.
#pragma once

#include "worker/trainer/cuda/kernels/common.cuh"

extern "C" __global__ void DropoutMask(const noisefloor::cuda::DropoutArguments a) {
  using namespace noisefloor::cuda;
  const U64 first_block = a.first_element / 4;
  const U64 blocks = (a.first_element + a.count + 3) / 4 - first_block;
  for (U64 b = FirstOfGrid(); b < blocks; b += StrideOfGrid()) {
    const Words words = PhiloxBlock(a.seed, a.stream, (a.step << 36) + first_block + b);
    for (U32 w = 0; w < 4; ++w) {
      const U64 element = 4 * (first_block + b) + w;
      if (element < a.first_element || element >= a.first_element + a.count) continue;
      a.mask[element - a.first_element] = words.word[w] < a.threshold ? 0.0f : a.keep;
    }
  }
}
