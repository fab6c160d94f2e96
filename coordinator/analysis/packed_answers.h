// Answers of members in planes of bits, for counting where two members differ: an example is a bit
// of ceil(log2(classes)) words instead of 16 bits, so that a word compares 64 examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// A value; reads from any thread.
class PackedAnswers {
 public:
  explicit PackedAnswers(const PredictionMatrix& answers);

  int64_t members() const { return members_; }
  // On how many examples two members differ, by Differ(): an undefined answer differs from each.
  int64_t Differing(int64_t a, int64_t b) const;

 private:
  void Add(std::span<const int16_t> row, int64_t member);

  int64_t members_ = 0;
  int64_t planes_ = 0;               // Of the answer.
  int64_t chunks_ = 0;               // Of words that are counted together.
  std::vector<uint64_t> bits_;       // {members, chunks, planes, words of a chunk}
  std::vector<uint64_t> undefined_;  // {members, chunks, words of a chunk}; empty where none is.
};

}  // namespace noisefloor::analysis
