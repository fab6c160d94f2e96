// The examples on which members disagree most. Only members of one cell are compared: where axes,
// plans or hardware differ, other answers are not noise. Selecting and measuring with the same
// members is biased, so the members are split: one half selects, the other measures. Pure.
//
// Members with one replicate number share seeds across cells, so they are not independent. A
// replicate is left out whole by the intervals, and n counts replicates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// One half of the members. A cell has a replicate at most once.
struct Half {
  PredictionMatrix answers;
  std::vector<uint32_t> cells;       // {members}
  std::vector<uint32_t> replicates;  // {members}
};

struct Divergent {
  int64_t example = 0;
  double selected_by = 0;  // Fraction of pairs within cells that disagree, in the selecting half.
  Estimate disagreement;   // The same in the measuring half. Absent without a pair there.
  Estimate accuracy;       // Mean over the measuring replicates of their members' share of right.
};

struct DivergentSet {
  std::vector<Divergent> examples;  // Most divergent first; ties by the lower number.
  Estimate subset_disagreement;     // Measuring half, mean over pairs, on the selected examples.
  Estimate subset_accuracy;         // Measuring half, mean over replicates, on them.
};

// At most `count` examples with some disagreement in the selecting half. Empty when no cell has
// two members in that half.
DivergentSet FindDivergent(const Half& selecting, const Half& measuring,
                           std::span<const int32_t> labels, int64_t count);

}  // namespace noisefloor::analysis
