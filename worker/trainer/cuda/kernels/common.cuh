// What kernels share. For NVRTC and, with tests/worker/trainer/cuda/shim.h before it, for the host.
//
// Rules of a kernel body, so that both mean the same: its only parameter is its struct of
// arguments; values of several bytes are copied member by member; memory shared by a block is
// __shared__, tables are __constant__; no dynamic parallelism, no textures, no function of the C
// library but sqrt; every operation of floating point is one of IEEE 754 (the scan of the PTX
// enforces it).
#pragma once

#include "worker/trainer/cuda/kernels/arguments.h"

namespace noisefloor::cuda {

constexpr U32 kLanes = 32;
constexpr U32 kAllLanes = 0xffffffffu;
constexpr U32 kMostWarps = 32;  // Of a block of 1024 threads.

struct Words {
  U32 word[4];
};

// Block(index) of a PhiloxStream: common/base/philox.h.
static __device__ Words PhiloxBlock(U64 seed, U64 stream, U64 index) {
  U32 c0 = static_cast<U32>(index), c1 = static_cast<U32>(index >> 32);
  U32 c2 = static_cast<U32>(stream), c3 = static_cast<U32>(stream >> 32);
  U32 k0 = static_cast<U32>(seed), k1 = static_cast<U32>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const U64 p0 = U64{0xD2511F53u} * c0;
    const U64 p1 = U64{0xCD9E8D57u} * c2;
    c0 = static_cast<U32>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<U32>(p1);
    c2 = static_cast<U32>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<U32>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return Words{{c0, c1, c2, c3}};
}

static __device__ U32 Below(U32 word, U32 bound) {
  return static_cast<U32>((U64{word} * bound) >> 32);
}

// Mix of common/base/seed.h.
static __device__ U64 MixBits(U64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// The number of the first thing that this thread does, and how far it is to its next.
static __device__ U64 FirstOfGrid() { return U64{blockIdx.x} * blockDim.x + threadIdx.x; }
static __device__ U64 StrideOfGrid() { return U64{gridDim.x} * blockDim.x; }

struct Pair {
  U64 a, b;
};

// The sums over a block of what its threads bring, for each thread. `room` is the block's own and
// must not be in use: {kMostWarps, 2}. Integers that wrap: no order changes them.
static __device__ Pair SumOfBlock(U64 a, U64 b, U64* room) {
  for (U32 distance = kLanes / 2; distance > 0; distance /= 2) {
    a += __shfl_xor_sync(kAllLanes, a, distance);
    b += __shfl_xor_sync(kAllLanes, b, distance);
  }
  const U32 warp = threadIdx.x / kLanes;
  if (threadIdx.x % kLanes == 0) {
    room[2 * warp] = a;
    room[2 * warp + 1] = b;
  }
  __syncthreads();
  Pair sum{0, 0};
  for (U32 w = 0; w < blockDim.x / kLanes; ++w) {
    sum.a += room[2 * w];
    sum.b += room[2 * w + 1];
  }
  return sum;
}

}  // namespace noisefloor::cuda
