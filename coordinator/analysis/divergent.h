// The examples on which members disagree most. Selecting and measuring with the same members is
// biased, so the members are split: one half selects, the other measures. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

struct Divergent {
  int64_t example = 0;
  double selected_by = 0;  // Fraction of pairs that disagree, in the selecting half.
  Estimate disagreement;   // The same in the measuring half. Absent below two members there.
  Estimate accuracy;       // Share of the measuring half that is right.
};

struct DivergentSet {
  std::vector<Divergent> examples;  // Most divergent first; ties by the lower number.
  Estimate subset_disagreement;     // Measuring half, mean over pairs, on the selected examples.
  Estimate subset_accuracy;         // Measuring half, mean over members, on them.
};

// At most `count` examples with some disagreement in the selecting half. Empty when that half has
// fewer than two members.
DivergentSet FindDivergent(const PredictionMatrix& selecting, const PredictionMatrix& measuring,
                           std::span<const int32_t> labels, int64_t count);

}  // namespace noisefloor::analysis
