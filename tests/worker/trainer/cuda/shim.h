// What makes a CUDA source one of plain C++, before anything of worker/trainer/cuda/kernels: names
// of the language, the numbers of blocks and threads, barriers, shuffles and atomics. Sources that
// include it are compiled with -fsanitize=thread and -fsanitize=bounds, and what the compiler then
// calls at each load, store and index is rehearsal.cc: no body needs to say what it touches.
#pragma once

#include <cmath>

#define __global__
#define __device__
#define __constant__ const __attribute__((section("nf_constant")))
#define __shared__ static __attribute__((section("nf_shared")))
#define threadIdx (::noisefloor::cuda::rehearsal::ThreadIndex())
#define blockIdx (::noisefloor::cuda::rehearsal::BlockIndex())
#define blockDim (::noisefloor::cuda::rehearsal::BlockSize())
#define gridDim (::noisefloor::cuda::rehearsal::GridSize())

namespace noisefloor::cuda::rehearsal {

struct Place {
  unsigned x, y, z;
};
Place ThreadIndex();
Place BlockIndex();
Place BlockSize();
Place GridSize();
void Barrier();
unsigned long long ShuffleXor(unsigned mask, unsigned long long value, unsigned distance);
float AtomicAdd(float* address, float value);

}  // namespace noisefloor::cuda::rehearsal

inline void __syncthreads() { noisefloor::cuda::rehearsal::Barrier(); }
inline unsigned long long __shfl_xor_sync(unsigned mask, unsigned long long value,
                                          unsigned distance) {
  return noisefloor::cuda::rehearsal::ShuffleXor(mask, value, distance);
}
inline float atomicAdd(float* address, float value) {
  return noisefloor::cuda::rehearsal::AtomicAdd(address, value);
}
inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }
inline double __longlong_as_double(long long value) { return __builtin_bit_cast(double, value); }
using std::sqrt;
