// Launches of our kernels from what a training knows: grids, blocks, arguments, and what is
// touched.
//
// Pointers are the device's; memory is the caller's and must live until the launch has run.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/cuda/launcher.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/noise/draws.h"

namespace noisefloor::cuda {

// A split that lies on the device as in worker/trainer/data/dataset.h.
struct ResidentSplit {
  trainer::ImageShape shape;
  uint64_t size = 0;  // Examples.
  const uint8_t* images = nullptr;
  const int64_t* labels = nullptr;
};

// How images are made of it.
struct ImageRule {
  AugmentSettings settings;
  trainer::Layout layout = trainer::Layout::kNchw;
  bool random = true;  // false: an evaluation; nothing is drawn.
};

// Images of a batch: `examples` {count} ranks below the split's size, `out` {count, pixels} in the
// layout, `labels` {count}.
struct ImageBatch {
  uint64_t epoch = 0;
  uint64_t first_position = 0;
  uint32_t count = 0;
  const uint32_t* examples = nullptr;
  float* out = nullptr;
  int64_t* labels = nullptr;
};

// Threads of a block, a multiple of 32 up to 1024: changes no bit of any kernel that is not noisy.
inline constexpr uint32_t kBlock = 256;

// An image must have fewer than 2^31 values.
KernelLaunch AugmentLaunch(const ResidentSplit& split, const ImageRule& rule,
                           const trainer::AugmentDraws& draws, const ImageBatch& batch,
                           uint32_t block = kBlock);

// DropoutDraws::Fill for `count` elements at `mask`.
KernelLaunch DropoutLaunch(const trainer::DropoutDraws& draws, uint64_t step,
                           std::string_view layer, double probability, uint64_t first_element,
                           float* mask, uint64_t count, uint32_t block = kBlock);

// A tensor of 4-byte or 8-byte elements in device memory. At most four dimensions.
struct DeviceTensor {
  const void* memory = nullptr;
  uint64_t element_bytes = 4;
  std::span<const int64_t> shape;
  std::span<const int64_t> strides;  // In elements, none negative.
};

// Blocks of the first of both launches below.
inline constexpr uint32_t kMostHashBlocks = 1024;
uint32_t HashBlocks(uint64_t elements, uint32_t block = kBlock);

// `partial` {HashBlocks, 2} is scratch, `sums` {2} becomes TensorSums of state_hash.h. Launched in
// this order.
std::array<KernelLaunch, 2> HashLaunches(uint64_t key, const DeviceTensor& tensor,
                                         uint64_t* partial, uint64_t* sums,
                                         uint32_t block = kBlock);

// Noisy. out[c] += the column c of `values` {rows, columns}, in the order in which threads come.
KernelLaunch NoisySumLaunch(const float* values, uint64_t rows, uint64_t columns, float* out,
                            uint32_t block = kBlock);

// DialDraws::Apply for all elements of a tensor in row-major order, in place.
KernelLaunch DialLaunch(uint64_t seed, uint64_t step, float size, std::string_view tensor,
                        float* values, uint64_t count, uint32_t block = kBlock);

}  // namespace noisefloor::cuda
