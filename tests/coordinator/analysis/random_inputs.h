// Small random inputs for comparing estimators with their slow twins.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "common/base/philox.h"
#include "coordinator/analysis/exchange.h"
#include "coordinator/analysis/packed_answers.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// Draws from one Philox stream, in order.
class Draws {
 public:
  explicit Draws(uint64_t seed) : stream_(seed, StreamOf("tests")) {}
  uint32_t Word() { return stream_.Word(next_++); }
  double Uniform() { return (Word() + 0.5) / 4294967296.0; }
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(Uniform() * static_cast<double>(bound));
  }
  // Standard normal (Box and Muller 1958), tails and all.
  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

 private:
  PhiloxStream stream_;
  uint64_t next_ = 0;
};

// Answers with some agreement; one in twenty undefined when asked for.
inline PredictionMatrix RandomAnswers(Draws& draws, int64_t members, int64_t examples,
                                      int32_t classes, bool some_undefined) {
  PredictionMatrix matrix(examples, classes);
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> row;
    for (int64_t x = 0; x < examples; ++x) {
      const bool undefined = some_undefined && draws.Uniform() < 0.05;
      const int64_t said = draws.Uniform() < 0.6 ? x % classes : draws.Below(classes);
      row.push_back(undefined ? kUndefined : static_cast<int16_t>(said));
    }
    if (!matrix.AddAnswers(row).ok()) return matrix;
  }
  return matrix;
}

// Of blocks, each with a matrix for every side: row r of each is replicate r.
inline ShiftTest TestShiftOf(const std::vector<std::vector<PredictionMatrix>>& blocks,
                             Exchange exchange) {
  PredictionMatrix all = blocks.empty()
                             ? PredictionMatrix(1, 1)
                             : PredictionMatrix(blocks[0][0].examples(), blocks[0][0].classes());
  std::vector<Sides> members;
  for (const std::vector<PredictionMatrix>& block : blocks) {
    Sides& sides = members.emplace_back();
    for (const PredictionMatrix& of_side : block) {
      std::vector<int64_t>& side = sides.emplace_back();
      for (int64_t r = 0; r < of_side.members(); ++r) {
        side.push_back(all.members());
        if (!all.AddAnswers(of_side.Row(r)).ok()) return {};
      }
    }
  }
  const PackedAnswers packed(all);
  KnownPairs pairs(packed);
  return TestShift(pairs, members, exchange);
}

inline PredictionMatrix AnswersFrom(const std::vector<std::vector<int16_t>>& rows,
                                    int32_t classes) {
  PredictionMatrix matrix(rows.empty() ? 0 : static_cast<int64_t>(rows[0].size()), classes);
  for (const auto& row : rows) {
    if (!matrix.AddAnswers(row).ok()) return matrix;
  }
  return matrix;
}

}  // namespace noisefloor::analysis
