// Answers of members in planes of bits, for counting where two members differ: an example is a bit
// of ceil(log2(classes)) words instead of 16 bits, so that a word compares 64 examples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// A value; reads from any thread.
class PackedAnswers {
 public:
  // Words that are compared together; as one value, because compilers keep it in registers.
  static constexpr int64_t kWords = 4;
  struct alignas(kWords * sizeof(uint64_t)) Chunk {
    uint64_t words __attribute__((vector_size(kWords * sizeof(uint64_t))));
  };
  // The answers of a member from some chunk on.
  struct Side {
    const Chunk* bits = nullptr;
    const Chunk* undefined = nullptr;  // nullptr: nobody has one.
  };

  explicit PackedAnswers(const PredictionMatrix& answers);

  int64_t members() const { return members_; }
  // On how many examples two members differ, by Differ(): an undefined answer differs from each.
  int64_t Differing(int64_t a, int64_t b) const;

 private:
  friend class KnownPairs;
  void Add(std::span<const int16_t> row, int64_t member);
  Side Of(int64_t member, int64_t chunk) const;

  int64_t members_ = 0;
  int64_t planes_ = 0;            // Of the answer.
  int64_t chunks_ = 0;            // Of a member.
  std::vector<Chunk> bits_;       // {members, chunks, planes}
  std::vector<Chunk> undefined_;  // {members, chunks}; empty where none is.
};

// The same, each pair counted once however often it is asked for: in tiles of neighbours, whose
// answers stay in the cache. One thread. `answers` outlives it.
class KnownPairs {
 public:
  explicit KnownPairs(const PackedAnswers& answers);
  // Between two members, of which one may be the other.
  int64_t Differing(int64_t a, int64_t b);

 private:
  static constexpr int64_t kTile = 8;  // Members a side.
  // Of more members, and beyond so many tiles (256 MiB), pairs are counted anew.
  static constexpr int64_t kMostMembers = 1 << 14;
  static constexpr size_t kMostTiles = 1 << 20;
  using Tile = std::array<int32_t, kTile * kTile>;
  Tile Count(int64_t first_a, int64_t first_b) const;

  const PackedAnswers& answers_;
  int64_t across_ = 0;          // Tiles; 0: none is kept.
  std::vector<int32_t> place_;  // {across, across}, the lower half: in `tiles_`; -1: not counted.
  std::vector<Tile> tiles_;
};

}  // namespace noisefloor::analysis
