// Which examples does a change of the machine, or of anything, answer otherwise, beyond what seeds
// do? Two sides with the same draws: row r of A and of B are one draw. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// For each example: in how many draws do the sides differ? Equal members, examples and classes.
std::vector<int64_t> FlipsByExample(const PredictionMatrix& a, const PredictionMatrix& b);

// The flips of one example about the class that most of them go from or to, ties to the lowest.
struct FlipsAbout {
  int32_t label = -1;  // -1: none.
  int64_t flips = 0;   // Draws in which exactly one side answers it.
  int64_t from_a = 0;  // Of those the ones in which A does.
};
FlipsAbout MostFlipsAbout(const PredictionMatrix& a, const PredictionMatrix& b, int64_t example);

// Two-sided exact sign test of "the side does not matter to this example": each of the flips would
// go either way alike, for the pair of answers comes first, and who gave which is chance.
double SignTestP(const FlipsAbout& about);

// Which examples follow the side, so that of those that are found the share that does not has an
// expectation of at most `level` (Benjamini and Hochberg 1995, over the examples that flip often
// enough to be found at all: Gilbert 2005). `flips` as FlipsByExample gave them.
struct FollowsSide {
  double p = 1;
  double p_fdr = 1;  // Adjusted: found where it is at most `level`.
};
// {examples}; absent: not tested.
std::vector<std::optional<FollowsSide>> TestExamples(const PredictionMatrix& a,
                                                     const PredictionMatrix& b,
                                                     std::span<const int64_t> flips, double level);

}  // namespace noisefloor::analysis
