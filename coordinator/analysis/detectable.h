// What size of effect n replicates can see: two-sided level 5 %, power 80 %. Shown beside every
// figure of a report, and by `noisefloor plan` before the money is spent. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace noisefloor::analysis {

inline constexpr double kPower = 0.8;

// The smallest ratio (> 1) of two standard deviations, each from n normal values, that an F test
// detects: 2.7 at n = 10, 1.7 at 30, 1.3 at 100. Absent below n = 2.
std::optional<double> DetectableSdRatio(int64_t n);

// The smallest difference of two means, each of n values with this standard deviation, that a
// t test detects. Absent below n = 2.
std::optional<double> DetectableMeanDifference(int64_t n, double sd);

// The smallest mean of n paired differences with this standard deviation that a t test detects.
std::optional<double> DetectablePairedDifference(int64_t n, double sd_of_differences);

// When none of n runs differed, the share of runs that may still differ, at 95 %:
// 1 - 0.05^(1/n), the exact binomial bound; 26 % at n = 10. Absent below n = 1.
std::optional<double> NoneSeenBound(int64_t n);

}  // namespace noisefloor::analysis
