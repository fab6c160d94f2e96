#include "worker/trainer/cuda/requests.h"

#include <algorithm>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "worker/trainer/cuda/kernels/arguments.h"

namespace noisefloor::cuda {

namespace {

constexpr uint32_t kMostBlocks = 4096;  // Of kernels that go on with a stride.

uint32_t BlocksFor(uint64_t things, uint32_t block, uint32_t most) {
  return static_cast<uint32_t>(std::clamp<uint64_t>((things + block - 1) / block, 1, most));
}

// Our integers are of the same width as the standard's and not always the same type.
U64* Words(uint64_t* words) { return reinterpret_cast<U64*>(words); }

// The memory that a tensor spans, in elements: from its first to behind its last.
uint64_t SpanOf(const DeviceTensor& tensor) {
  uint64_t last = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] == 0) return 0;
    last += static_cast<uint64_t>((tensor.shape[d] - 1) * tensor.strides[d]);
  }
  return last + 1;
}

HashArguments ArgumentsOf(uint64_t key, const DeviceTensor& tensor) {
  NF_CHECK(tensor.element_bytes == 4 || tensor.element_bytes == 8);
  NF_CHECK(tensor.shape.size() <= 4 && tensor.shape.size() == tensor.strides.size());
  HashArguments a{};
  a.words = static_cast<const U32*>(tensor.memory);
  a.key = key;
  a.element_words = static_cast<U32>(tensor.element_bytes / 4);
  a.count = 1;
  std::fill_n(a.sizes, 4, 1);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    a.sizes[4 - tensor.shape.size() + d] = static_cast<U64>(tensor.shape[d]);
    a.strides[4 - tensor.shape.size() + d] = static_cast<U64>(tensor.strides[d]);
    a.count *= static_cast<U64>(tensor.shape[d]);
  }
  return a;
}

}  // namespace

KernelLaunch AugmentLaunch(const ResidentSplit& split, const ImageRule& rule,
                           const trainer::AugmentDraws& draws, const ImageBatch& batch,
                           uint32_t block) {
  const auto pixels = static_cast<uint64_t>(split.shape.pixels());
  NF_CHECK(pixels > 0 && pixels < uint64_t{1} << 31);
  NF_CHECK(block % 32 == 0 && block <= 1024);
  AugmentArguments a{};
  a.images = split.images;
  a.labels = reinterpret_cast<const I64*>(split.labels);
  a.examples = batch.examples;
  a.out = batch.out;
  a.out_labels = reinterpret_cast<I64*>(batch.labels);
  a.seed = draws.seed();
  a.epoch = batch.epoch;
  a.first_position = batch.first_position;
  a.channels = static_cast<U32>(split.shape.channels);
  a.height = static_cast<U32>(split.shape.height);
  a.width = static_cast<U32>(split.shape.width);
  a.crop_padding = static_cast<U32>(rule.settings.crop_padding);
  a.cutout = static_cast<U32>(rule.settings.cutout);
  a.flip = rule.settings.flip;
  a.standardise = rule.settings.standardise;
  a.channels_last = rule.layout == trainer::Layout::kNhwc;
  a.random = rule.random;
  a.by_position = draws.key() == trainer::AugmentKey::kPosition;
  return KernelLaunch::Of(Kernel::kAugmentImages, batch.count, block, a,
                          {{split.images, split.size * pixels, false},
                           {split.labels, split.size * sizeof(int64_t), false},
                           {batch.examples, batch.count * sizeof(uint32_t), false},
                           {batch.out, batch.count * pixels * sizeof(float), true},
                           {batch.labels, batch.count * sizeof(int64_t), true}});
}

KernelLaunch DropoutLaunch(const trainer::DropoutDraws& draws, uint64_t step,
                           std::string_view layer, double probability, uint64_t first_element,
                           float* mask, uint64_t count, uint32_t block) {
  NF_CHECK(probability >= 0.0 && probability < 1.0);
  NF_CHECK(step < uint64_t{1} << 28);
  NF_CHECK(first_element + count <= uint64_t{1} << 38);
  DropoutArguments a{};
  a.mask = mask;
  a.count = count;
  a.first_element = first_element;
  a.seed = draws.seed();
  a.stream = StreamOf(layer);
  a.step = step;
  a.threshold = static_cast<U32>(probability * 4294967296.0);
  a.keep = static_cast<float>(1.0 / (1.0 - probability));
  return KernelLaunch::Of(Kernel::kDropoutMask, BlocksFor(count / 4 + 1, block, kMostBlocks), block,
                          a, {{mask, count * sizeof(float), true}});
}

uint32_t HashBlocks(uint64_t elements, uint32_t block) {
  return BlocksFor(elements, block, kMostHashBlocks);
}

std::array<KernelLaunch, 2> HashLaunches(uint64_t key, const DeviceTensor& tensor,
                                         uint64_t* partial, uint64_t* sums, uint32_t block) {
  NF_CHECK(block % 32 == 0 && block <= 1024);
  HashArguments a = ArgumentsOf(key, tensor);
  a.blocks = HashBlocks(a.count, block);
  a.partial = Words(partial);
  a.sums = Words(sums);
  const size_t partial_bytes = size_t{2} * a.blocks * sizeof(uint64_t);
  return {KernelLaunch::Of(Kernel::kHashElements, a.blocks, block, a,
                           {{tensor.memory, SpanOf(tensor) * tensor.element_bytes, false},
                            {partial, partial_bytes, true}}),
          KernelLaunch::Of(Kernel::kHashFinish, 1, block, a,
                           {{partial, partial_bytes, false}, {sums, 2 * sizeof(uint64_t), true}})};
}

KernelLaunch NoisySumLaunch(const float* values, uint64_t rows, uint64_t columns, float* out,
                            uint32_t block) {
  NF_CHECK(columns > 0);
  const NoisySumArguments a{values, out, rows * columns, columns};
  return KernelLaunch::Of(
      Kernel::kNoisySumRows, BlocksFor(rows * columns, block, kMostBlocks), block, a,
      {{values, rows * columns * sizeof(float), false}, {out, columns * sizeof(float), true}});
}

KernelLaunch DialLaunch(uint64_t seed, uint64_t step, float size, std::string_view tensor,
                        float* values, uint64_t count, uint32_t block) {
  NF_CHECK(step < uint64_t{1} << 28);
  NF_CHECK(count <= uint64_t{1} << 38);
  DialArguments a{};
  a.values = values;
  a.count = count;
  a.seed = seed;
  a.stream = StreamOf(tensor);
  a.step = step;
  a.size = size;
  return KernelLaunch::Of(Kernel::kDial, BlocksFor(count / 4 + 1, block, kMostBlocks), block, a,
                          {{values, count * sizeof(float), true}});
}

}  // namespace noisefloor::cuda
