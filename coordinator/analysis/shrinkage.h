// Many values of one kind, each pulled towards what is usual among them by as much as it is
// uncertain (empirical Bayes): the largest of them are then no longer too large. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"

namespace noisefloor::analysis {

// How shares are spread over many things: Beta(alpha, beta).
struct SharesPrior {
  double alpha = 0;
  double beta = 0;
};

// From how many of n trials, n >= 2, succeeded for each thing, by moments of the beta-binomial: the
// variance of y/n is m (1 - m) / n (1 + (n - 1) r), r = 1 / (alpha + beta + 1). Absent where all
// succeed or none does, and where the counts spread no more than one share for all would make them.
std::optional<SharesPrior> PriorOfShares(std::span<const int64_t> successes, int64_t trials);

// The mean of Beta(alpha + y, beta + n - y) with its central 95 %. n: trials.
Estimate ShrunkenShare(const SharesPrior& prior, int64_t successes, int64_t trials);

// Values that were estimated from the same replicates, `without[i]` without replicate i (at least
// three), pulled to their mean: mean + t2 / (t2 + v_k) (value_k - mean), v_k the jackknife's
// variance of value_k - mean, and t2 what the values spread beyond the mean of those, at least 0
// (James and Stein 1961; Efron and Morris 1975).
std::vector<double> ShrunkenToMean(std::span<const double> values,
                                   std::span<const std::vector<double>> without);

}  // namespace noisefloor::analysis
