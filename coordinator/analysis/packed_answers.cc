#include "coordinator/analysis/packed_answers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "common/base/check.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kBits = 64;
constexpr int64_t kWords = 8;  // Of a chunk: few enough that its planes meet in registers.
constexpr int64_t kExamples = kBits * kWords;

// Counts bits of chunks. Loops of a known length over words of one size, which compilers keep in
// vectors; std::popcount is a call where the processor may not have the instruction.
class BitCount {
 public:
  void Add(const std::array<uint64_t, kWords>& words) {
    for (size_t i = 0; i < kWords; ++i) {
      uint64_t word = words[i];
      word -= (word >> 1) & 0x5555555555555555;
      word = (word & 0x3333333333333333) + ((word >> 2) & 0x3333333333333333);
      bytes_[i] += (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0f;  // At most 8 in each byte.
    }
    if (++chunks_ == kMostChunks) Drain();
  }
  int64_t Total() {
    Drain();
    return total_;
  }

 private:
  static constexpr int kMostChunks = 255 / 8;  // Whose counts a byte holds.

  void Drain() {
    constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
    constexpr uint64_t kOnes = 0x0001000100010001;
    for (uint64_t& bytes : bytes_) {
      // Four sums of two bytes, added up in the upper 16 bits.
      total_ += static_cast<int64_t>((((bytes & kEven) + ((bytes >> 8) & kEven)) * kOnes) >> 48);
      bytes = 0;
    }
    chunks_ = 0;
  }

  std::array<uint64_t, kWords> bytes_{};
  int chunks_ = 0;
  int64_t total_ = 0;
};

}  // namespace

PackedAnswers::PackedAnswers(const PredictionMatrix& answers)
    : members_(answers.members()),
      planes_(std::bit_width(static_cast<uint32_t>(answers.classes() - 1))),
      chunks_((answers.examples() + kExamples - 1) / kExamples) {
  bits_.assign(static_cast<size_t>(members_ * chunks_ * planes_ * kWords), 0);
  for (int64_t m = 0; m < members_; ++m) Add(answers.Row(m), m);
}

void PackedAnswers::Add(std::span<const int16_t> row, int64_t member) {
  for (size_t begin = 0; begin < row.size(); begin += kBits) {
    std::array<uint16_t, kBits> said{};
    const size_t count = std::min<size_t>(kBits, row.size() - begin);
    uint64_t undefined = 0;
    for (size_t x = 0; x < count; ++x) {
      said[x] = static_cast<uint16_t>(row[begin + x]);
      undefined |= uint64_t{row[begin + x] < 0} << x;
    }
    const int64_t chunk = member * chunks_ + static_cast<int64_t>(begin) / kExamples;
    const int64_t word = static_cast<int64_t>(begin) / kBits % kWords;
    for (int64_t plane = 0; plane < planes_; ++plane) {
      uint64_t bits = 0;
      for (size_t x = 0; x < kBits; ++x) bits |= uint64_t{said[x] >> plane & 1U} << x;
      bits_[static_cast<size_t>((chunk * planes_ + plane) * kWords + word)] = bits;
    }
    if (undefined == 0) continue;
    undefined_.resize(static_cast<size_t>(members_ * chunks_ * kWords), 0);
    undefined_[static_cast<size_t>(chunk * kWords + word)] = undefined;
  }
}

int64_t PackedAnswers::Differing(int64_t a, int64_t b) const {
  const uint64_t* of_a = bits_.data() + a * chunks_ * planes_ * kWords;
  const uint64_t* of_b = bits_.data() + b * chunks_ * planes_ * kWords;
  BitCount count;
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    std::array<uint64_t, kWords> differ{};
    for (int64_t plane = 0; plane < planes_; ++plane, of_a += kWords, of_b += kWords) {
      for (size_t i = 0; i < kWords; ++i) differ[i] |= of_a[i] ^ of_b[i];
    }
    if (!undefined_.empty()) {
      const uint64_t* const none_a = undefined_.data() + (a * chunks_ + chunk) * kWords;
      const uint64_t* const none_b = undefined_.data() + (b * chunks_ + chunk) * kWords;
      for (size_t i = 0; i < kWords; ++i) differ[i] |= none_a[i] | none_b[i];
    }
    count.Add(differ);
  }
  return count.Total();
}

}  // namespace noisefloor::analysis
