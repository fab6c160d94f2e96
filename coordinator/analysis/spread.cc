#include "coordinator/analysis/spread.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"

namespace noisefloor::analysis {
namespace {

std::vector<double> FiniteOf(std::span<const double> values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  return finite;
}

// The note about what was left out, or nothing.
std::string LeftOut(size_t all, size_t finite) {
  if (all == finite) return "";
  return std::to_string(all - finite) + " of " + std::to_string(all) +
         " values are not finite and left out";
}

std::string TooFew(size_t all, size_t finite, const std::string& needed) {
  const std::string left_out = LeftOut(all, finite);
  return "needs " + needed + ", there are " + std::to_string(finite) +
         (left_out.empty() ? "" : "; " + left_out);
}

void SetInterval(Estimate& estimate, const std::optional<Interval>& interval) {
  if (!interval) return;
  estimate.low = interval->low;
  estimate.high = interval->high;
}

}  // namespace

double MeanOf(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  double lost = 0;
  for (const double value : values) {
    const double next = sum + value;
    lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return (sum + lost) / static_cast<double>(values.size());
}

double SdOf(std::span<const double> values) {
  if (values.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  // Equal values must give exactly zero, whatever the rounding of their mean.
  if (std::all_of(values.begin(), values.end(), [&](double v) { return v == values[0]; })) return 0;
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Estimate MeanEstimate(std::span<const double> values, const std::string& unit) {
  const std::vector<double> finite = FiniteOf(values);
  const int64_t n = static_cast<int64_t>(finite.size());
  if (n < 1) return Absent(unit, n, TooFew(values.size(), finite.size(), "one member"));
  Estimate estimate;
  estimate.value = n == 1 ? finite[0] : MeanOf(finite);
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "mean; Student's t over members";
  AddNote(estimate, LeftOut(values.size(), finite.size()));
  const double sd = SdOf(finite);
  if (n < 2) {
    AddNote(estimate, "one value: no interval");
  } else if (sd == 0) {
    estimate.value = finite[0];
    AddNote(estimate, "all " + std::to_string(n) + " values are equal: no interval");
  } else {
    SetInterval(estimate, TInterval(*estimate.value, sd / std::sqrt(static_cast<double>(n)), n));
    estimate.detectable = DetectableMeanDifference(n, sd);
    estimate.detectable_kind = "difference";
  }
  return estimate;
}

Estimate SdEstimate(std::span<const double> values, const std::string& unit) {
  const std::vector<double> finite = FiniteOf(values);
  const int64_t n = static_cast<int64_t>(finite.size());
  if (n < 2) return Absent(unit, n, TooFew(values.size(), finite.size(), "two members"));
  Estimate estimate;
  estimate.value = SdOf(finite);
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "standard deviation, ddof 1; chi-square, assumes normal values";
  AddNote(estimate, LeftOut(values.size(), finite.size()));
  if (*estimate.value == 0) {
    AddNote(estimate, "all " + std::to_string(n) + " values are equal: no interval");
  } else {
    SetInterval(estimate, SdInterval(*estimate.value, n));
  }
  estimate.detectable = DetectableSdRatio(n);
  estimate.detectable_kind = "ratio";
  return estimate;
}

Estimate PooledSdEstimate(std::span<const std::vector<double>> groups, const std::string& unit) {
  double squares = 0;
  int64_t blocks = 0;
  int64_t degrees = 0;
  int64_t n = 0;
  size_t values = 0;
  size_t left_out = 0;
  for (const std::vector<double>& group : groups) {
    const std::vector<double> finite = FiniteOf(group);
    values += group.size();
    left_out += group.size() - finite.size();
    if (finite.size() < 2) continue;
    const double sd = SdOf(finite);
    squares += sd * sd * static_cast<double>(finite.size() - 1);
    ++blocks;
    degrees += static_cast<int64_t>(finite.size()) - 1;
    n += static_cast<int64_t>(finite.size());
  }
  if (degrees < 1) return Absent(unit, 0, "no block has two members");
  Estimate estimate;
  estimate.value = std::sqrt(squares / static_cast<double>(degrees));
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "root of the variance pooled over blocks, " + std::to_string(degrees) +
                    " degrees of freedom; chi-square, assumes normal values";
  AddNote(estimate, LeftOut(values, values - left_out));
  if (*estimate.value == 0) {
    AddNote(estimate, "inside each block all values are equal: no interval");
  } else {
    SetInterval(estimate, SdInterval(*estimate.value, degrees + 1));
  }
  estimate.detectable = DetectableSdRatioOverBlocks(blocks, degrees);
  estimate.detectable_kind = "ratio";
  return estimate;
}

Estimate RangeEstimate(std::span<const double> values, const std::string& unit) {
  const std::vector<double> finite = FiniteOf(values);
  const int64_t n = static_cast<int64_t>(finite.size());
  if (n < 2) return Absent(unit, n, TooFew(values.size(), finite.size(), "two members"));
  const auto [least, most] = std::minmax_element(finite.begin(), finite.end());
  Estimate estimate;
  estimate.value = *most - *least;
  estimate.n = n;
  estimate.unit = unit;
  estimate.method = "largest - smallest; grows with n";
  AddNote(estimate, LeftOut(values.size(), finite.size()));
  return estimate;
}

}  // namespace noisefloor::analysis
