// How many members are enough, and intervals for whoever looks before all are there. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/analysis/estimate.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {

// The values whose mean is the mean over pairs and whose spread is the jackknife's: of member r
// n U - (n - 1) U without r. Empty below three members.
std::vector<double> PseudoValues(const PairSums& sums);

// Stein (1945): so many normal values in all bring the interval of their mean to +- half_width
// (> 0) or less, whatever their spread, where `pilot_sd` is that of the first `pilot` (>= 2) alone.
// Not below `pilot`; at most 2^53.
int64_t SteinSize(double pilot_sd, int64_t pilot, double half_width);

// The largest spread of a pilot for which `most` values are enough.
double SteinSpread(int64_t pilot, int64_t most, double half_width);

// Gives the mean of `estimate.n` values Stein's interval: mean +- t(pilot - 1) pilot_sd / sqrt(n).
// It holds the truth as often as it says although n was decided by the pilot; more than n values do
// it no harm. No value, or fewer than the pilot: as it was.
void SetSteinInterval(Estimate& estimate, double pilot_sd, int64_t pilot);

// Half the width, in standard deviations of the values, of an interval of their mean that holds
// the truth at *every* n at once in 95 % of studies of normal values: of whoever looks after each
// value and stops when he likes. Absent where n (> 0) values allow none, below four.
std::optional<double> AlwaysValidHalfWidth(int64_t n);

// Gives the mean of `values` that interval instead of its own; none where there is none. Values
// that are not finite are left out. As it was where they do not spread, or their mean is not there.
void SetAlwaysValidInterval(Estimate& estimate, std::span<const double> values);

}  // namespace noisefloor::analysis
