#include "coordinator/analysis/packed_answers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

#include "common/base/check.h"

// Whole numbers: the same on every processor. GCC alone makes a copy for wider vectors that is
// chosen as the program begins, before a sanitizer would be ready for it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define NF_FOR_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define NF_FOR_EACH_PROCESSOR
#endif

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

// Bit `plane` of each, in order. Four at a time: a product moves the bits, 16 apart, beside each
// other, into the upper four.
uint64_t BitOfEach(const std::array<uint16_t, kBits>& values, int plane) {
  constexpr uint64_t kLowest = 0x0001000100010001;
  constexpr uint64_t kTogether = 1ULL << 60 | 1ULL << 45 | 1ULL << 30 | 1ULL << 15;
  uint64_t bits = 0;
  for (size_t x = 0; x < values.size(); x += 4) {
    const uint64_t four = uint64_t{values[x]} | uint64_t{values[x + 1]} << 16 |
                          uint64_t{values[x + 2]} << 32 | uint64_t{values[x + 3]} << 48;
    bits |= ((four >> plane & kLowest) * kTogether) >> 60 << x;
  }
  return bits;
}

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
      bits_[static_cast<size_t>((chunk * planes_ + plane) * kWords + word)] =
          BitOfEach(said, static_cast<int>(plane));
    }
    if (undefined == 0) continue;
    undefined_.resize(static_cast<size_t>(members_ * chunks_ * kWords), 0);
    undefined_[static_cast<size_t>(chunk * kWords + word)] = undefined;
  }
}

NF_FOR_EACH_PROCESSOR int64_t PackedAnswers::Differing(int64_t a, int64_t b, int64_t first_chunk,
                                                       int64_t last_chunk) const {
  const uint64_t* of_a = bits_.data() + (a * chunks_ + first_chunk) * planes_ * kWords;
  const uint64_t* of_b = bits_.data() + (b * chunks_ + first_chunk) * planes_ * kWords;
  BitCount count;
  for (int64_t chunk = first_chunk; chunk < last_chunk; ++chunk) {
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

KnownPairs::KnownPairs(const PackedAnswers& answers) : answers_(answers) {
  if (answers.members() > kMostMembers) return;
  across_ = (answers.members() + kTile - 1) / kTile;
  place_.assign(static_cast<size_t>(across_ * across_), -1);
}

KnownPairs::Tile KnownPairs::Count(int64_t first_a, int64_t first_b) const {
  constexpr int64_t kBytes =
      4096;  // Of each member of a tile at a time: a core's cache holds them.
  const int64_t at_once = std::max<int64_t>(
      1, kBytes / (std::max<int64_t>(1, answers_.planes_) * kWords * int64_t{sizeof(uint64_t)}));
  const int64_t last_a = std::min(answers_.members(), first_a + kTile);
  const int64_t last_b = std::min(answers_.members(), first_b + kTile);
  Tile tile{};
  for (int64_t chunk = 0; chunk < answers_.chunks_; chunk += at_once) {
    const int64_t last = std::min(answers_.chunks_, chunk + at_once);
    for (int64_t a = first_a; a < last_a; ++a) {
      for (int64_t b = first_b; b < last_b; ++b) {
        tile[static_cast<size_t>((a - first_a) * kTile + b - first_b)] +=
            static_cast<int32_t>(answers_.Differing(a, b, chunk, last));
      }
    }
  }
  return tile;
}

int64_t KnownPairs::Differing(int64_t a, int64_t b) {
  if (a < b) std::swap(a, b);
  if (across_ == 0) return answers_.Differing(a, b);
  int32_t& place = place_[static_cast<size_t>(a / kTile * across_ + b / kTile)];
  if (place < 0) {
    if (tiles_.size() == kMostTiles) return answers_.Differing(a, b);
    place = static_cast<int32_t>(tiles_.size());
    tiles_.push_back(Count(a - a % kTile, b - b % kTile));
  }
  return tiles_[static_cast<size_t>(place)][static_cast<size_t>(a % kTile * kTile + b % kTile)];
}

}  // namespace noisefloor::analysis
