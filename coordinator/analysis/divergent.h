// The examples on which members disagree most. Only members of one cell are compared: where axes,
// plans or hardware differ, other answers are not noise. Selecting and measuring with the same
// members is biased, so the members are split: one half selects the examples that are shown, the
// other measures. Pure.
//
// Members with one replicate number share seeds across cells, so they are not independent. A
// replicate is left out whole by the intervals, and n counts replicates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/cross_fit.h"
#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

struct Divergent {
  int64_t example = 0;
  double selected_by = 0;  // Fraction of pairs within cells that disagree, in the selecting half.
  Estimate disagreement;   // The same in the measuring half. Absent without a pair there.
  Estimate accuracy;       // Mean over the measuring replicates of their members' share of right.
};

struct DivergentSet {
  std::vector<Divergent> examples;  // Most divergent first; ties by the lower number.
  CrossFitted subset;               // What so many examples show that others chose.
  // Those on which all members disagree as much as on the `count`-th of them, or more, rising: of
  // equals all, so that no order of the examples decides who is among them.
  std::vector<int64_t> by_all;
};

// At most `count` examples with some disagreement among the members that select; none when no cell
// has two of them. `selecting` has an entry for each member, the same for all of a replicate.
DivergentSet FindDivergent(const CellMembers& members, const std::vector<bool>& selecting,
                           std::span<const int32_t> labels, int64_t count);

}  // namespace noisefloor::analysis
