#include "coordinator/analysis/packed_answers.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

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
constexpr int64_t kWords = PackedAnswers::kWords;
constexpr int64_t kExamples = kBits * kWords;

using Chunk = PackedAnswers::Chunk;
using Answers = PackedAnswers::Side;
constexpr int64_t kAtOnce = 4;  // Members that one is compared with.

constexpr int64_t kMostAdded = 255 / 8;  // Counts of a byte's bits that a byte holds.

// Adds how many bits of each byte are set. std::popcount is a call where the processor may not have
// the instruction.
[[gnu::always_inline]] inline void AddBits(Chunk& bytes, Chunk& bits) {
  bits.words -= (bits.words >> 1) & 0x5555555555555555;
  bits.words = (bits.words & 0x3333333333333333) + ((bits.words >> 2) & 0x3333333333333333);
  bytes.words += (bits.words + (bits.words >> 4)) & 0x0f0f0f0f0f0f0f0f;
}

[[gnu::always_inline]] inline int32_t SumOf(const Chunk& bytes) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  // Four sums of two bytes, added up in the upper 16 bits.
  const Chunk sums = {
      (((bytes.words & kEven) + ((bytes.words >> 8) & kEven)) * 0x0001000100010001) >> 48};
  uint64_t sum = 0;
  for (int64_t w = 0; w < kWords; ++w) sum += sums.words[w];
  return static_cast<int32_t>(sum);
}

// Where one member differs from each of some, added to `counts`; of at most kMostAdded chunks.
// Written out for each of them, so that what is counted stays in registers.
template <size_t... kOther>
[[gnu::always_inline]] inline void AddDiffering(const Answers& one,
                                                std::array<Answers, sizeof...(kOther)> others,
                                                int64_t planes, int64_t chunks, int32_t* counts,
                                                std::index_sequence<kOther...>) {
  std::array<Chunk, sizeof...(kOther)> bytes{};
  const Chunk* bits = one.bits;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    std::array<Chunk, sizeof...(kOther)> differ{};
    for (int64_t plane = 0; plane < planes; ++plane, ++bits) {
      ((differ[kOther].words |= bits->words ^ (others[kOther].bits++)->words), ...);
    }
    if (one.undefined != nullptr) {
      ((differ[kOther].words |= one.undefined[chunk].words | others[kOther].undefined[chunk].words),
       ...);
    }
    (AddBits(bytes[kOther], differ[kOther]), ...);
  }
  ((counts[kOther] += SumOf(bytes[kOther])), ...);
}

NF_FOR_EACH_PROCESSOR void AddDifferingFromFour(const Answers& one,
                                                const std::array<Answers, 4>& others,
                                                int64_t planes, int64_t chunks, int32_t* counts) {
  AddDiffering(one, others, planes, chunks, counts, std::make_index_sequence<4>());
}
NF_FOR_EACH_PROCESSOR void AddDifferingFromOne(const Answers& one, const Answers& other,
                                               int64_t planes, int64_t chunks, int32_t* count) {
  AddDiffering(one, {other}, planes, chunks, count, std::make_index_sequence<1>());
}

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
  bits_.resize(static_cast<size_t>(members_ * chunks_ * planes_));
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
      bits_[static_cast<size_t>(chunk * planes_ + plane)].words[word] =
          BitOfEach(said, static_cast<int>(plane));
    }
    if (undefined == 0) continue;
    undefined_.resize(static_cast<size_t>(members_ * chunks_));
    undefined_[static_cast<size_t>(chunk)].words[word] = undefined;
  }
}

PackedAnswers::Side PackedAnswers::Of(int64_t member, int64_t chunk) const {
  const auto first = static_cast<size_t>(member * chunks_ + chunk);
  return {bits_.data() + first * static_cast<size_t>(planes_),
          undefined_.empty() ? nullptr : undefined_.data() + first};
}

int64_t PackedAnswers::Differing(int64_t a, int64_t b) const {
  int64_t differing = 0;
  for (int64_t chunk = 0; chunk < chunks_; chunk += kMostAdded) {
    int32_t count = 0;
    AddDifferingFromOne(Of(a, chunk), Of(b, chunk), planes_, std::min(kMostAdded, chunks_ - chunk),
                        &count);
    differing += count;
  }
  return differing;
}

KnownPairs::KnownPairs(const PackedAnswers& answers) : answers_(answers) {
  if (answers.members() > kMostMembers) return;
  across_ = (answers.members() + kTile - 1) / kTile;
  place_.assign(static_cast<size_t>(across_ * across_), -1);
}

KnownPairs::Tile KnownPairs::Count(int64_t first_a, int64_t first_b) const {
  constexpr int64_t kBytes =
      4096;  // Of each member of a tile at a time: a core's cache holds them.
  const int64_t planes = std::max<int64_t>(1, answers_.planes_);
  const int64_t at_once =
      std::clamp<int64_t>(kBytes / (planes * int64_t{sizeof(Chunk)}), 1, kMostAdded);
  const int64_t last_a = std::min(answers_.members(), first_a + kTile);
  // Beyond the last member of all stands the last: what a tile has of no pair is not asked for.
  const auto others = [&](int64_t first, int64_t chunk) {
    std::array<Answers, kAtOnce> sides{};
    for (int64_t b = 0; b < kAtOnce; ++b) {
      sides[static_cast<size_t>(b)] =
          answers_.Of(std::min(first + b, answers_.members() - 1), chunk);
    }
    return sides;
  };
  Tile tile{};
  for (int64_t chunk = 0; chunk < answers_.chunks_; chunk += at_once) {
    const int64_t chunks = std::min(at_once, answers_.chunks_ - chunk);
    for (int64_t b = 0; b < kTile && first_b + b < answers_.members(); b += kAtOnce) {
      const std::array<Answers, kAtOnce> four = others(first_b + b, chunk);
      for (int64_t a = first_a; a < last_a; ++a) {
        AddDifferingFromFour(answers_.Of(a, chunk), four, answers_.planes_, chunks,
                             tile.data() + (a - first_a) * kTile + b);
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
