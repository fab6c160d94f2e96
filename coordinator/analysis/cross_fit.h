// A figure of what was chosen, measured by members that did not choose it, each in its turn. Pure.
//
// Members with one replicate number share seeds across cells, so they are not independent: what
// chooses and what measures are replicates, with their members in all cells.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// Members of some cells. A cell has a replicate at most once.
struct CellMembers {
  PredictionMatrix answers;
  std::vector<uint32_t> cells;       // {members}
  std::vector<uint32_t> replicates;  // {members}
};

// Some rows of members.
using Rows = std::vector<size_t>;

// What rows of `members` say of some examples, by replicate. `said` are the answers of all members
// to those; churns and accuracies are means over them.
struct ReplicateSums {
  PairSums churn;  // Over the pairs of members of one cell; a pair counts for both its replicates.
  PairSums pairs;  // How many these are.
};
// Of the replicates that are in a pair, in order.
ReplicateSums PairsOfReplicates(const CellMembers& members, const PredictionMatrix& said,
                                const Rows& rows);
// Of each replicate, in order, the mean over its members; `labels` are those of the examples.
std::vector<double> AccuracyOfReplicates(const CellMembers& members, const PredictionMatrix& said,
                                         const Rows& rows, std::span<const int32_t> labels);

// How many pairs of members of one cell disagree on each example, and how many pairs there are.
struct Tally {
  std::vector<int64_t> differing;  // {examples}
  int64_t pairs = 0;

  void Add(const Tally& other);  // Pairs between the two are in neither. Of as many examples.
};

// Of these rows: O(rows x examples).
Tally TallyOf(const CellMembers& members, const Rows& rows);

// The examples on which most pairs disagree, most first, ties by the lower number: at most `count`,
// and none on which all agree.
std::vector<int64_t> MostDiffering(const Tally& tally, int64_t count);

// Some replicates: their rows, and what these say.
struct Half {
  Rows rows;
  Tally tally;
};
// Those with a mark, then those without; `marked` has an entry for each member, the same for all of
// a replicate.
std::array<Half, 2> HalvesOf(const CellMembers& members, const std::vector<bool>& marked);

// Of the `count` examples that some members disagree on most, how much do others? Two halves
// choose for each other, or, below six replicates, all but two for each two; the
// mean over these ways. It is of the examples that were chosen: the interval leaves out one
// replicate from what measures, not from what chooses; Student's t, of halves with Welch's degrees
// of freedom. Absent below four replicates.
struct CrossFitted {
  Estimate disagreement;  // Share of the pairs inside cells that disagree.
  Estimate accuracy;      // Share of right answers, a mean over replicates of their members.
};
// `labels` has one entry for each example.
CrossFitted CrossFit(const CellMembers& members, const std::array<Half, 2>& halves,
                     std::span<const int32_t> labels, int64_t count);

}  // namespace noisefloor::analysis
