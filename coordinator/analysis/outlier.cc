#include "coordinator/analysis/outlier.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {

std::optional<Farthest> FarthestValue(std::span<const double> values) {
  std::vector<double> finite;
  for (const double value : values) {
    if (std::isfinite(value)) finite.push_back(value);
  }
  const auto n = static_cast<double>(finite.size());
  if (n < 4) return std::nullopt;
  const double sd = SdOf(finite);
  if (!(sd > 0)) return std::nullopt;
  const double mean = MeanOf(finite);
  Farthest farthest;
  for (size_t i = 0; i < values.size(); ++i) {
    const double deviations = std::abs(values[i] - mean) / sd;
    if (std::isfinite(values[i]) && deviations > farthest.deviations) {
      farthest.place = i;
      farthest.deviations = deviations;
    }
  }
  // G cannot exceed (n - 1) / sqrt(n); there t is infinite.
  const double g2 = farthest.deviations * farthest.deviations;
  const double left = (n - 1) * (n - 1) - n * g2;
  if (left <= 0) {
    farthest.p = 0;
    return farthest;
  }
  farthest.p = std::min(1.0, n * TwoSidedP(std::sqrt(n * (n - 2) * g2 / left), n - 2));
  return farthest;
}

}  // namespace noisefloor::analysis
