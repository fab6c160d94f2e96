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
// Of each of these examples, which rise.
std::vector<FlipsAbout> MostFlipsAbout(const PredictionMatrix& a, const PredictionMatrix& b,
                                       std::span<const int64_t> examples);

// Two-sided exact sign test of "the side does not matter to this example": each of the flips would
// go either way alike, for the pair of answers comes first, and who gave which is chance.
double SignTestP(const FlipsAbout& about);

// An adjusted p for each: of those at most `level` the share that does not follow the side has an
// expectation of at most `level`, where examples are independent. The step-up of Benjamini and
// Hochberg for tests that can take few values, which the numbers of flips say (Doehler, Durand,
// Roquain 2018, DBH-SU): with m tests and F_i(t) the largest p <= t that test i can give, at most
// level * m values are expected up to the largest t with sum F_i(t) / (1 - F_i(t)) <= level * m;
// adjusted is the least of sum F_i(p_j) / (1 - F_i(t)) / j over the p_j, the j-th smallest, that
// are not below it, and 1 beyond t.
std::vector<double> AdjustForDiscoveries(std::span<const FlipsAbout> about, double level);

// Which examples follow the side. Tested are those that flip so often that alone they could be at
// most `level`, whichever way the flips go: how often they flip says nothing of the side.
struct FollowsSide {
  double p = 1;
  double p_fdr = 1;  // Adjusted: found where it is at most `level`.
};
// {examples}; absent: not tested. `flips` as FlipsByExample gave them.
std::vector<std::optional<FollowsSide>> TestExamples(const PredictionMatrix& a,
                                                     const PredictionMatrix& b,
                                                     std::span<const int64_t> flips, double level);

}  // namespace noisefloor::analysis
