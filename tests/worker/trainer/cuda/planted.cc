#include "tests/worker/trainer/cuda/shim.h"
// After the shim.
#include "tests/worker/trainer/cuda/planted.h"

namespace noisefloor::cuda::rehearsal {

namespace {

using Arguments = PlantedArguments;

__global__ void Sound(const Arguments a) {
  __shared__ float room[256];
  room[threadIdx.x] = a.others[threadIdx.x];
  __syncthreads();
  if (blockIdx.x == 0) a.values[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__global__ void NoBarrier(const Arguments a) {
  __shared__ float room[256];
  room[threadIdx.x] = a.others[threadIdx.x];
  if (blockIdx.x == 0) a.values[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__global__ void OverwrittenTooEarly(const Arguments a) {
  __shared__ float room[256];
  room[threadIdx.x] = a.others[threadIdx.x];
  __syncthreads();
  const float other = room[(threadIdx.x + 1) % blockDim.x];
  room[threadIdx.x] = other;
}
__global__ void OneAddress(const Arguments a) { a.values[0] = static_cast<float>(threadIdx.x); }
__global__ void OneByteOfBoth(const Arguments a) {
  unsigned char* bytes = reinterpret_cast<unsigned char*>(a.values);
  bytes[threadIdx.x / 2] = 1;
}
__global__ void BlocksMeet(const Arguments a) {
  if (threadIdx.x == 0) a.values[7] = 1.0f;
}
__global__ void ReadOfAnotherBlocks(const Arguments a) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) a.values[0] = 1.0f;
  if (blockIdx.x == 1) a.values[1] = a.values[0];
}
__global__ void AtomicAndPlain(const Arguments a) {
  if (threadIdx.x == 0) {
    a.values[0] = 1.0f;
  } else {
    atomicAdd(a.values, 1.0f);
  }
}
__global__ void Atomics(const Arguments a) { atomicAdd(a.values + threadIdx.x % 3, 1.0f); }
__global__ void BehindTheEnd(const Arguments a) {
  if (threadIdx.x == 3) a.values[256] = 1.0f;
}
__global__ void BeforeTheBeginning(const Arguments a) {
  if (threadIdx.x == 3) a.values[0] = a.others[-1];
}
__global__ void WritesWhatIsRead(const Arguments a) {
  if (threadIdx.x == 3) const_cast<float*>(a.others)[0] = 1.0f;
}
__global__ void IndexOfSharedOutside(const Arguments a) {
  __shared__ float room[16];
  room[threadIdx.x] = 1.0f;
  __syncthreads();
  a.values[threadIdx.x] = room[threadIdx.x];
}
__global__ void ReadsUnwrittenShared(const Arguments a) {
  __shared__ float room[256];
  if (threadIdx.x > 0) room[threadIdx.x] = 1.0f;
  __syncthreads();
  if (blockIdx.x == 0) a.values[threadIdx.x] = room[threadIdx.x];
}
__global__ void BarrierOfSome(const Arguments a) {
  if (threadIdx.x < 5) __syncthreads();
  if (blockIdx.x == 0) a.values[threadIdx.x] = 1.0f;
}
__global__ void TwoBarriers(const Arguments a) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
    a.values[threadIdx.x] = 1.0f;
  } else {
    __syncthreads();
    a.values[threadIdx.x] = 2.0f;
  }
}
__global__ void ShuffleOfSome(const Arguments a) {
  if (threadIdx.x % 32 > 3) a.values[threadIdx.x] = float(__shfl_xor_sync(~0u, threadIdx.x, 1));
}
__global__ void ShuffleOutOfItsMask(const Arguments a) {
  if (threadIdx.x == 0) a.values[0] = float(__shfl_xor_sync(1u, threadIdx.x, 1));
}

template <auto kKernel>
void CallPlanted(const void* arguments) {
  kKernel(*static_cast<const Arguments*>(arguments));
}

}  // namespace

Body PlantedBody(std::string_view name) {
  struct Named {
    const char* name;
    Body body;
  };
#define NF_NAMED(kernel) \
  { #kernel, CallPlanted < kernel> }
  static constexpr Named kAll[] = {NF_NAMED(Sound),
                                   NF_NAMED(NoBarrier),
                                   NF_NAMED(OverwrittenTooEarly),
                                   NF_NAMED(OneAddress),
                                   NF_NAMED(OneByteOfBoth),
                                   NF_NAMED(BlocksMeet),
                                   NF_NAMED(ReadOfAnotherBlocks),
                                   NF_NAMED(AtomicAndPlain),
                                   NF_NAMED(Atomics),
                                   NF_NAMED(BehindTheEnd),
                                   NF_NAMED(BeforeTheBeginning),
                                   NF_NAMED(WritesWhatIsRead),
                                   NF_NAMED(IndexOfSharedOutside),
                                   NF_NAMED(ReadsUnwrittenShared),
                                   NF_NAMED(BarrierOfSome),
                                   NF_NAMED(TwoBarriers),
                                   NF_NAMED(ShuffleOfSome),
                                   NF_NAMED(ShuffleOutOfItsMask)};
#undef NF_NAMED
  for (const Named& named : kAll) {
    if (name == named.name) return named.body;
  }
  return nullptr;
}

}  // namespace noisefloor::cuda::rehearsal
