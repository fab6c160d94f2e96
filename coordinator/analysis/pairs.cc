#include "coordinator/analysis/pairs.h"

#include <algorithm>
#include <cmath>

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

double PairCount(int64_t members) {
  return static_cast<double>(members) * static_cast<double>(members - 1) / 2;
}

// The jackknife's standard error: sqrt((n - 1) / n * sum of squared deviations of the means that
// leave out one member). Their mean is the full mean itself. n >= 3.
double StandardError(const PairSums& sums) {
  const int64_t n = static_cast<int64_t>(sums.of_member.size());
  const double mean = sums.total / PairCount(n);
  double squares = 0;
  for (const double of_member : sums.of_member) {
    const double without = (sums.total - of_member) / PairCount(n - 1);
    squares += (without - mean) * (without - mean);
  }
  return std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
}

}  // namespace

PairSums SumPairs(const PairMatrix& pairs) {
  PairSums sums;
  sums.of_member.assign(static_cast<size_t>(pairs.members()), 0.0);
  for (int64_t i = 0; i < pairs.members(); ++i) {
    for (int64_t j = i + 1; j < pairs.members(); ++j) {
      const double value = pairs.At(i, j);
      sums.total += value;
      sums.of_member[static_cast<size_t>(i)] += value;
      sums.of_member[static_cast<size_t>(j)] += value;
    }
  }
  return sums;
}

Estimate PairMean(const PairSums& sums, const std::string& unit, Bounds bounds) {
  const int64_t n = static_cast<int64_t>(sums.of_member.size());
  if (n < 2) return Absent(unit, n, "needs two members, there are " + std::to_string(n));
  Estimate estimate;
  estimate.value = sums.total / PairCount(n);
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "mean over pairs; jackknife leaving out one member, Student's t";
  if (n == 2) {
    estimate.note = "one pair: no interval";
    return estimate;
  }
  const double error = StandardError(sums);
  // Equal sums differ in the last bits only.
  if (!(error > 1e-12 * std::abs(*estimate.value))) {
    estimate.note = *estimate.value == 0
                        ? "no difference seen in " + std::to_string(n) + " members: no interval"
                        : "all members are equally far apart: no interval";
    return estimate;
  }
  const std::optional<Interval> interval = TInterval(*estimate.value, error, n);
  estimate.low = std::max(bounds.low, interval->low);
  estimate.high = std::min(bounds.high, interval->high);
  estimate.detectable = DetectableMeanDifference(n, error * std::sqrt(static_cast<double>(n)));
  estimate.detectable_kind = "difference";
  return estimate;
}

}  // namespace noisefloor::analysis
