// The sums of state_hash.h: over the elements of a tensor in any memory format, by their logical
// places, in two launches and without atomics.
#pragma once

#include "worker/trainer/cuda/kernels/common.cuh"

extern "C" __global__ void HashElements(const noisefloor::cuda::HashArguments a) {
  using namespace noisefloor::cuda;
  __shared__ U64 room[2 * kMostWarps];
  Pair sum{0, 0};
  for (U64 i = FirstOfGrid(); i < a.count; i += StrideOfGrid()) {
    U64 rest = i, offset = 0;
    for (int d = 3; d >= 0; --d) {
      offset += rest % a.sizes[d] * a.strides[d];
      rest /= a.sizes[d];
    }
    U64 value = a.words[offset * a.element_words];
    if (a.element_words == 2) value |= U64{a.words[2 * offset + 1]} << 32;
    const U64 mixed = MixBits(MixBits(a.key + i) ^ value);
    sum.a += mixed;
    sum.b += MixBits(mixed);
  }
  const Pair all = SumOfBlock(sum.a, sum.b, room);
  if (threadIdx.x == 0) {
    a.partial[2 * blockIdx.x] = all.a;
    a.partial[2 * blockIdx.x + 1] = all.b;
  }
}

extern "C" __global__ void HashFinish(const noisefloor::cuda::HashArguments a) {
  using namespace noisefloor::cuda;
  __shared__ U64 room[2 * kMostWarps];
  Pair sum{0, 0};
  for (U32 block = threadIdx.x; block < a.blocks; block += blockDim.x) {
    sum.a += a.partial[2 * block];
    sum.b += a.partial[2 * block + 1];
  }
  const Pair all = SumOfBlock(sum.a, sum.b, room);
  if (threadIdx.x == 0) {
    a.sums[0] = all.a;
    a.sums[1] = all.b;
  }
}
