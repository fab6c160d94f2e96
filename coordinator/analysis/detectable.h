// What size of effect n replicates can see: two-sided level 5 %, power 80 %. Shown beside every
// figure of a report, and by `noisefloor plan` before the money is spent. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace noisefloor::analysis {

inline constexpr double kPower = 0.8;

// The smallest ratio (> 1) of two standard deviations, each of n normal values, that the jackknife
// of a contrast (contrast.h) tells from 1 where the sides have the same draws and nothing else in
// common: 15 at n = 5, 3.4 at 10, 1.75 at 30, 1.33 at 100. What moves both sides together makes it
// smaller. Absent where a contrast has no interval, below n = 3, or the ratio is above 100.
std::optional<double> DetectableSdRatio(int64_t n);

// The same of spreads inside so many blocks, with `degrees` of freedom in all, where the blocks are
// the draws: 3.1 of 3 blocks of 10. Absent below three blocks, or above 100.
std::optional<double> DetectableSdRatioOverBlocks(int64_t blocks, int64_t degrees);

// The smallest difference of two means, each of n values with this standard deviation, that a
// t test detects. Absent below n = 2.
std::optional<double> DetectableMeanDifference(int64_t n, double sd);

// The smallest mean of n paired differences with this standard deviation that a t test detects.
std::optional<double> DetectablePairedDifference(int64_t n, double sd_of_differences);

// When n runs had one and the same result, the share of runs that may still differ from it, at
// 95 %: 1 - 0.05^(1/(n-1)); 28 % at n = 10. The first run only says what the result is; each of the
// other n - 1 could have differed from it. Holds whatever the runs' distribution over results: if
// the result has probability q, the bound misses where q < 0.05^(1/(n-1)), and that all n have one
// such result has probability sum q^n <= 0.05 sum q. Absent below n = 2.
std::optional<double> NoneSeenBound(int64_t n);

}  // namespace noisefloor::analysis
