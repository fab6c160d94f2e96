#include "coordinator/analysis/shrinkage.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <cstddef>

#include "common/base/check.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {

std::optional<SharesPrior> PriorOfShares(std::span<const int64_t> successes, int64_t trials) {
  NF_CHECK(trials >= 2);
  // Whole sums: many things have equal counts.
  int64_t sum = 0;
  int64_t squares = 0;
  for (const int64_t y : successes) {
    NF_CHECK(y >= 0 && y <= trials);
    sum += y;
    squares += y * y;
  }
  const auto things = static_cast<double>(successes.size());
  const auto n = static_cast<double>(trials);
  if (sum == 0 || sum == std::ssize(successes) * trials) return std::nullopt;
  const double mean = static_cast<double>(sum) / (things * n);
  const double variance = static_cast<double>(squares) / (things * n * n) - mean * mean;
  const double binomial = mean * (1 - mean) / n;
  // At most just below 1, where each thing always succeeds or never does.
  constexpr double kMostCorrelated = 0.999;
  const double r = std::min(kMostCorrelated, (variance / binomial - 1) / (n - 1));
  if (!(r > 0)) return std::nullopt;
  const double weight = 1 / r - 1;
  return SharesPrior{mean * weight, (1 - mean) * weight};
}

Estimate ShrunkenShare(const SharesPrior& prior, int64_t successes, int64_t trials) {
  const double alpha = prior.alpha + static_cast<double>(successes);
  const double beta = prior.beta + static_cast<double>(trials - successes);
  const boost::math::beta_distribution<double> posterior(alpha, beta);
  Estimate estimate;
  estimate.value = alpha / (alpha + beta);
  estimate.low = quantile(posterior, kLevel / 2);
  estimate.high = quantile(complement(posterior, kLevel / 2));
  estimate.n = trials;
  estimate.unit = "fraction";
  estimate.method =
      "beta-binomial, empirical Bayes over all examples; central 95 % of its posterior";
  return estimate;
}

std::vector<double> ShrunkenToMean(std::span<const double> values,
                                   std::span<const std::vector<double>> without) {
  const size_t count = values.size();
  const auto n = static_cast<double>(without.size());
  NF_CHECK(without.size() >= 3);
  const double mean = MeanOf(values);
  if (count < 2) return {values.begin(), values.end()};
  std::vector<double> variance(count, 0.0);
  for (const std::vector<double>& left : without) {
    NF_CHECK(left.size() == count);
    const double left_mean = MeanOf(left);
    for (size_t k = 0; k < count; ++k) {
      const double moved = (left[k] - left_mean) - (values[k] - mean);
      variance[k] += moved * moved * (n - 1) / n;
    }
  }
  double spread = 0;
  for (const double value : values) spread += (value - mean) * (value - mean);
  spread /= static_cast<double>(count - 1);
  // What the estimates alone would spread: their deviations' variances sum to (count - 1) of it.
  double chance = 0;
  for (const double v : variance) chance += v;
  chance /= static_cast<double>(count - 1);
  const double between = std::max(0.0, spread - chance);
  std::vector<double> shrunken;
  for (size_t k = 0; k < count; ++k) {
    const double total = between + variance[k];
    const double kept = total > 0 ? between / total : 1;
    shrunken.push_back(mean + kept * (values[k] - mean));
  }
  return shrunken;
}

}  // namespace noisefloor::analysis
