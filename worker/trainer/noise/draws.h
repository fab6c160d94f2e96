// What is drawn from the seeds of init, augment, dropout, dial, threads and load. Each draw is a
// pure function of seed and index. Normative (README.md beside this file). Values; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/base/philox.h"

namespace noisefloor::trainer {

// Source `init`. Stream = StreamOf(parameter name), one 32-bit word per element: Word(element),
// elements counted in logical (row-major) order.
class InitDraws {
 public:
  explicit InitDraws(uint64_t seed) : seed_(seed) {}

  // values[i] = (2 u - 1) * limit with u = UniformFloat(word): uniform in [-limit, limit), one
  // rounding each.
  void FillUniform(std::string_view parameter, float limit, std::span<float> values) const;
  // values[i] = NormalFloat(word) * deviation, one rounding after the draw.
  void FillNormal(std::string_view parameter, float deviation, std::span<float> values) const;

 private:
  uint64_t seed_;
};

enum class AugmentKey : uint8_t { kExample, kPosition };

// The random words of one image in one epoch. Each operation has its own, so that turning one on
// does not move another.
struct AugmentWords {
  uint32_t crop_row = 0;
  uint32_t crop_column = 0;
  uint32_t flip = 0;
  uint32_t cutout_row = 0;
  uint32_t cutout_column = 0;
};

// Source `augment`. Stream = epoch; blocks 2k and 2k + 1 with k = the example's rank (so that the
// augmented set does not depend on the order) or its position in the epoch.
class AugmentDraws {
 public:
  AugmentDraws(uint64_t seed, AugmentKey key) : seed_(seed), key_(key) {}
  AugmentWords At(uint64_t epoch, uint64_t example, uint64_t position) const;

  // For who draws on a device.
  uint64_t seed() const { return seed_; }
  AugmentKey key() const { return key_; }

 private:
  uint64_t seed_;
  AugmentKey key_;
};

// A uniform integer in [0, bound) from one word: UniformBelow(word * 2^32, bound).
constexpr uint32_t BelowOf(uint32_t word, uint32_t bound) {
  return static_cast<uint32_t>((uint64_t{word} * bound) >> 32);
}

// Source `dropout`. Stream = StreamOf(layer name), word element % 4 of block
// step * 2^36 + element / 4: step below 2^28, element below 2^38.
class DropoutDraws {
 public:
  explicit DropoutDraws(uint64_t seed) : seed_(seed) {}

  // mask[i] = 0 when the word of element first_element + i is below floor(probability * 2^32),
  // else float(1 / (1 - probability)). Elements are counted over the layer's whole batch in
  // logical order, so that shards fill their parts. 0 <= probability < 1.
  void Fill(uint64_t step, std::string_view layer, double probability, uint64_t first_element,
            std::span<float> mask) const;

  uint64_t seed() const { return seed_; }  // For who draws on a device.

 private:
  uint64_t seed_;
};

// Source `dial`: noise of a stated size. Element e of a gradient becomes value + (size * value) *
// z, three operations of its type, each rounded; z is NormalFloat of word e % 4 of block step *
// 2^36 + e / 4, stream = StreamOf(parameter name): step below 2^28, element below 2^38, in logical
// order. It is relative to the element itself, as the rounding of one is, so that it needs no sum
// over a tensor and is the same on every device and for any number of shards: a zero stays a zero.
// The kernel Dial (worker/trainer/cuda) has the bits of the float one.
class DialDraws {
 public:
  explicit DialDraws(uint64_t seed) : seed_(seed) {}

  // To elements from `first_element` on.
  void Apply(uint64_t step, std::string_view parameter, uint64_t first_element, float size,
             std::span<float> values) const;
  void Apply(uint64_t step, std::string_view parameter, uint64_t first_element, double size,
             std::span<double> values) const;

  uint64_t seed() const { return seed_; }  // For who draws on a device.

 private:
  uint64_t seed_;
};

// Sources `threads` and `load`: choices[UniformBelow(words 0 and 1 of block 0 of stream 0)]. Not
// empty.
int64_t DrawThreads(uint64_t seed, std::span<const int64_t> choices);

// Words 0 (low) and 1 (high) of a block.
constexpr uint64_t Bits64(const PhiloxCounter& block) {
  return block[0] | (uint64_t{block[1]} << 32);
}

}  // namespace noisefloor::trainer
