#include "coordinator/analysis/paired_ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {

namespace {

bool IsTime(double value) { return std::isfinite(value) && value > 0; }

Estimate OfLogs(const std::vector<double>& logs, const char* method) {
  Estimate estimate;
  estimate.n = static_cast<int64_t>(logs.size());
  estimate.unit = "ratio";
  estimate.method = method;
  const double mean = MeanOf(logs);
  estimate.value = std::exp(mean);
  const double error = SdOf(logs) / std::sqrt(static_cast<double>(logs.size()));
  if (const auto interval = TInterval(mean, error, estimate.n)) {
    estimate.low = std::exp(interval->low);
    estimate.high = std::exp(interval->high);
  }
  return estimate;
}

}  // namespace

Estimate PairedRatio(std::span<const double> a, std::span<const double> b) {
  const size_t pairs = std::min(a.size(), b.size());
  std::vector<double> logs;
  for (size_t i = 0; i < pairs; ++i) {
    if (IsTime(a[i]) && IsTime(b[i])) logs.push_back(std::log(a[i] / b[i]));
  }
  if (logs.empty()) return Absent("ratio", 0, "no pair of times");
  Estimate estimate = OfLogs(logs, "t interval of the mean logarithm of the ratios of pairs");
  if (logs.size() < pairs) {
    estimate.note = std::to_string(pairs - logs.size()) + " pairs without a time are left out";
  }
  return estimate;
}

Estimate RatioOverRuns(std::span<const double> ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) {
    if (IsTime(ratio)) logs.push_back(std::log(ratio));
  }
  if (logs.empty()) return Absent("ratio", 0, "no run with a ratio");
  return OfLogs(logs, "t interval of the mean logarithm of the ratios of runs");
}

double MedianOf(std::span<const double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace noisefloor::analysis
