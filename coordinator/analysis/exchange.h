// Exact tests of "which hardware class trained it does not matter", by exchanging members between
// classes. Equal inputs give equal results: where there are too many arrangements to look at all,
// those looked at are always the same ones. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/packed_answers.h"

namespace noisefloor::analysis {

// What may be exchanged when the class does not matter.
enum class Exchange : uint8_t {
  // Replicate r has equal lanes on every side: its members may change sides with each other. With
  // two sides this flips the sign of what the replicate contributes.
  kWithinReplicates,
  // All seeded lanes are fixed: every member may be on any side.
  kAcrossReplicates,
};

// The members of one block: for each of at least two sides those of its replicates, in the same
// order, as many on each.
using Sides = std::vector<std::vector<int64_t>>;

// All are looked at up to here: sign flips of 16 replicates. Beyond, those of a group that is
// chosen without a look at the answers: as many rotations of the sides of all replicates, or more
// (rotations.h); where replicates are too few for that, all exchanges inside runs of them, or
// rotations of each and permutations of some; where sides are very many, of a few replicates.
inline constexpr int64_t kMostArrangements = 32768;

struct ShiftTest {
  double p = 1;              // Share of the arrangements at least as far apart as the observed one.
  int64_t arrangements = 1;  // How many were looked at, the observed one among them.
  bool all = true;           // Were these all there are?
};

// Do the sides answer alike, in distribution? The statistic is the churn within the sides, summed
// over sides and blocks in whole answers: the less of it, the further apart the sides are. For two
// sides it orders the arrangements as the excess does (an energy statistic: Szekely and Rizzo
// 2013). Exchanges are made inside each block. Exact: what is looked at is a group, so that, when
// the class does not matter, p <= alpha in at most alpha of studies, whatever the distribution of
// the answers. Sides of one size in all blocks. O(members^2 x examples), and what the arrangements
// take.
ShiftTest TestShift(KnownPairs& answers, std::span<const Sides> blocks, Exchange exchange);

// The least p that such a test can give, by the number of replicates of each block. 1: none.
double LeastP(int64_t sides, std::span<const int64_t> replicates, Exchange exchange);

// The fewest replicates in each of `blocks` blocks with which LeastP is at most `level`. Absent
// when none are enough: there are that many arrangements that are looked at.
std::optional<int64_t> ReplicatesFor(double level, int64_t sides, int64_t blocks,
                                     Exchange exchange);

}  // namespace noisefloor::analysis
