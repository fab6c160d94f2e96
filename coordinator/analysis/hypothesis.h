// Exact tests of "which hardware class trained it does not matter", and the correction for many of
// them. Equal inputs give equal results: where there are too many arrangements to look at all,
// those looked at are drawn from a fixed stream. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/prediction_matrix.h"

namespace noisefloor::analysis {

// What may be exchanged when the class does not matter.
enum class Exchange : uint8_t {
  // Replicate r has equal lanes on every side: its members may change sides with each other. With
  // two sides this flips the sign of what the replicate contributes.
  kWithinReplicates,
  // All seeded lanes are fixed: every member may be on any side.
  kAcrossReplicates,
};

// The answers of one block: one matrix for each of at least two sides, with as many replicates (in
// the same order) on the same examples.
using Sides = std::vector<PredictionMatrix>;

// Looked at one by one up to here: sign flips of 16 replicates. Beyond, kDrawnArrangements random
// ones and the observed one.
inline constexpr int64_t kMostArrangements = 32768;
inline constexpr int64_t kDrawnArrangements = 9999;

struct ShiftTest {
  double p = 1;              // Share of the arrangements at least as far apart as the observed one.
  int64_t arrangements = 1;  // How many were looked at, the observed one among them.
  bool all = true;           // Were these all there are? Else they were drawn.
};

// Do the sides answer alike, in distribution? The statistic is the churn within the sides, summed
// over sides and blocks in whole answers: the less of it, the further apart the sides are. For two
// sides it orders the arrangements as the excess does (an energy statistic: Szekely and Rizzo
// 2013). Exchanges are made inside each block. Exact: when the class does not matter, p <= alpha in
// at most alpha of studies, whatever the distribution of the answers.
ShiftTest TestShift(std::span<const Sides> blocks, Exchange exchange);

// The least p that such a test can give, by the number of replicates of each block. 1: none.
double LeastP(int64_t sides, std::span<const int64_t> replicates, Exchange exchange);

// The fewest replicates in each of `blocks` blocks with which LeastP is at most `level`. Absent
// when none are enough: a drawn test goes down to 1 / (kDrawnArrangements + 1).
std::optional<int64_t> ReplicatesFor(double level, int64_t sides, int64_t blocks,
                                     Exchange exchange);

// Which tests of a family can be claimed at all after correction, by the least p of each: a test
// that never rejects needs no correction for it. With K the smallest number such that at most K
// tests have a least p of at most level / K, those (Tarone 1990).
std::vector<bool> CanBeClaimed(std::span<const double> least, double level);

// Holm's step-down adjustment (1979) of the p-values of one family, each to be compared with the
// level of the family. Absent ones are in no family.
std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p);
// Likewise where each has a weight > 0: its share of the level, which goes over to the others once
// it is claimed.
std::vector<std::optional<double>> Holm(std::span<const std::optional<double>> p,
                                        std::span<const double> weights);

// A confidence set, at 1 - `level`, for the largest of several values that are estimated from the
// same replicates: places of the values that no other is significantly above. `without[i]` are the
// values when replicate i is left out. Value c stays unless for some d
//   values[d] - values[c] > t(replicates - 1; 1 - level / (values - 1)) * se(values[d] -
//   values[c]),
// the standard error by leaving out one replicate from both (Hsu 1984; Mogstad, Romano, Shaikh,
// Wilhelm 2024). All places below three replicates.
std::vector<size_t> MayBeLargest(std::span<const double> values,
                                 std::span<const std::vector<double>> without, double level = 0.05);

}  // namespace noisefloor::analysis
