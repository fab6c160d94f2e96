// What averaging the probabilities of several members buys: accuracy, log loss, Brier score and
// calibration by the size of the ensemble. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// Of ensembles of so many members: the expectation over which members they are.
struct EnsembleScores {
  int64_t size = 1;
  Estimate accuracy;     // Of the class of the largest mean probability; ties to the lowest.
  Estimate log_loss;     // Mean of -log of the label's mean probability, in nats.
  Estimate brier;        // Mean of the squared distance to the label's corner, in [0, 2].
  Estimate calibration;  // Root mean square of confidence less accuracy; see below.
};

// More logits of one cell than these are not looked at.
inline constexpr int64_t kMostEnsembleLogits = int64_t{1} << 24;
// How many of `members` are looked at, the first ones: as many as have a million logits, but 8 at
// least where they fit, and 16 at most. Below two nothing can be said.
int64_t EnsembleMembers(int64_t members, int64_t examples, int64_t classes);

// `logits`: of each member {examples, classes}, finite, row major; of no more members than
// EnsembleMembers. Sizes 1, 2, 4, ... up to half of the members, so that two ensembles have no
// member in common; n counts members. One label for each example, of which there are 1 or more.
//
// Brier's of every size is exact: B_k = B_1 - (1 - 1/k) Q, Q the mean over pairs of half the
// squared distance of their probabilities. The others are means over groups of k members, drawn
// from fixed permutations, each cut into as many groups as it has. Intervals leave out one member
// from all (jackknife), Student's t with n - 1. Calibration: 15 bins of equally many examples by
// confidence, the variance of a bin's accuracy subtracted from its square (Kumar, Liang, Ma 2019);
// 0 where nothing is left, then without an interval.
std::vector<EnsembleScores> ScoreEnsembles(std::span<const std::span<const float>> logits,
                                           std::span<const int32_t> labels, int32_t classes);

// By how much the Brier score of a large ensemble, half from A and half from B, is below the mean
// of the two that are all from one side: a quarter of the squared distance of the two mean answers,
// which is the mean over pairs across of half the squared distance of their probabilities, less the
// mean of those inside A and inside B, halved. Rows of A and of B with one
// place share their draws: pairs across are of unequal places. Leaving out one place from both.
// Absent below three members, or unequal ones.
Estimate GainOfMixing(std::span<const std::span<const float>> a,
                      std::span<const std::span<const float>> b, int32_t classes);

}  // namespace noisefloor::analysis
