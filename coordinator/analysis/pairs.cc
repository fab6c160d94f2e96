#include "coordinator/analysis/pairs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/base/check.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

// The jackknife's standard error: sqrt((n - 1) / n * sum of squared deviations, from the full mean,
// of the means that leave out one member). n >= 3. Absent when such a mean has no value.
std::optional<double> StandardError(const PairSums& sums, const PairSums& counts) {
  const double n = static_cast<double>(sums.of_member.size());
  const double mean = sums.total / counts.total;
  double squares = 0;
  for (size_t m = 0; m < sums.of_member.size(); ++m) {
    const double left = counts.total - counts.of_member[m];
    if (!(left > 0)) return std::nullopt;
    const double without = (sums.total - sums.of_member[m]) / left;
    squares += (without - mean) * (without - mean);
  }
  return std::sqrt(squares * (n - 1) / n);
}

// What differs by less is equal but for rounding: relative to the terms that the mean is made of.
double RoundingOf(double mean, Bounds bounds) {
  const double terms = std::isfinite(bounds.low) ? std::abs(bounds.low) : 0;
  return kRounding * std::max(std::abs(mean), terms);
}

std::string NoteOfEqual(double mean, int64_t n, Bounds bounds) {
  if (bounds.low < 0) return "leaving out any one member changes nothing: no interval";
  return mean == 0 ? "no difference seen in " + std::to_string(n) + " members: no interval"
                   : "all members are equally far apart: no interval";
}

}  // namespace

PairSums SameForAllPairs(size_t members, double value) {
  const double n = static_cast<double>(members);
  return {value * n * (n - 1) / 2, std::vector<double>(members, value * (n - 1))};
}

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
  return PairMean(sums, SameForAllPairs(sums.of_member.size(), 1), unit, bounds);
}

Estimate PairMean(const PairSums& sums, const PairSums& counts, const std::string& unit,
                  Bounds bounds) {
  NF_CHECK(sums.of_member.size() == counts.of_member.size());
  const int64_t n = static_cast<int64_t>(sums.of_member.size());
  if (n < 2) return Absent(unit, n, "needs two members, there are " + std::to_string(n));
  if (counts.total == 0) return Absent(unit, n, "no pair has a value");
  Estimate estimate;
  const double mean = sums.total / counts.total;
  const double rounding = RoundingOf(mean, bounds);
  estimate.value = bounds.low < 0 && std::abs(mean) <= rounding ? 0 : mean;
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "mean over pairs; jackknife leaving out one member, Student's t";
  if (n == 2) {
    estimate.note = "one pair: no interval";
    return estimate;
  }
  const std::optional<double> error = StandardError(sums, counts);
  if (!error) {
    estimate.note = "without one of them no pair is left: no interval";
    return estimate;
  }
  if (!(*error > rounding)) {
    estimate.note = NoteOfEqual(*estimate.value, n, bounds);
    return estimate;
  }
  const std::optional<Interval> interval = TInterval(*estimate.value, *error, n);
  estimate.low = std::max(bounds.low, interval->low);
  estimate.high = std::min(bounds.high, interval->high);
  estimate.detectable = DetectableMeanDifference(n, *error * std::sqrt(static_cast<double>(n)));
  estimate.detectable_kind = "difference";
  return estimate;
}

}  // namespace noisefloor::analysis
