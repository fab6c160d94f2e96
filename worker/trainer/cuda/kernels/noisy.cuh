// Kernels whose result depends on the order in which threads come: noise on purpose.
#pragma once

#include "worker/trainer/cuda/kernels/common.cuh"

extern "C" __global__ void NoisySumRows(const noisefloor::cuda::NoisySumArguments a) {
  using namespace noisefloor::cuda;
  for (U64 i = FirstOfGrid(); i < a.count; i += StrideOfGrid()) {
    atomicAdd(a.out + i % a.columns, a.values[i]);
  }
}
