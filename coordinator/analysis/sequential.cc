#include "coordinator/analysis/sequential.h"

#include <algorithm>
#include <cmath>

#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

// Variance of the prior of the mean in units of that of the values. 4 makes the interval 2.3 times
// as wide as that of one look at n = 4, 1.9 at 5 and 1.74 from 15 to 60, where studies are.
constexpr double kPrior = 4;

constexpr double kMostSize = 9007199254740992;  // 2^53: of a pilot that spreads without bound.

void SetInterval(Estimate& estimate, double half, const char* method) {
  estimate.low = *estimate.value - half;
  estimate.high = *estimate.value + half;
  estimate.method = method;
}

}  // namespace

std::vector<double> PseudoValues(const PairSums& sums) {
  const auto n = static_cast<double>(sums.of_member.size());
  std::vector<double> values;
  if (n < 3) return values;
  const double mean = sums.total / (n * (n - 1) / 2);
  for (const double of_member : sums.of_member) {
    const double without = (sums.total - of_member) / ((n - 1) * (n - 2) / 2);
    values.push_back(n * mean - (n - 1) * without);
  }
  return values;
}

int64_t SteinSize(double pilot_sd, int64_t pilot, double half_width) {
  const double t = TQuantile(static_cast<double>(pilot - 1), 1 - kLevel / 2);
  const double root = t * pilot_sd / half_width;
  return std::max(pilot, static_cast<int64_t>(std::ceil(std::min(root * root, kMostSize))));
}

double SteinSpread(int64_t pilot, int64_t most, double half_width) {
  return half_width * std::sqrt(static_cast<double>(most)) /
         TQuantile(static_cast<double>(pilot - 1), 1 - kLevel / 2);
}

void SetSteinInterval(Estimate& estimate, double pilot_sd, int64_t pilot) {
  if (!estimate.value || estimate.n < pilot || !std::isfinite(pilot_sd)) return;
  if (pilot_sd == 0) {
    estimate.low = estimate.high = std::nullopt;
    estimate.note = "all of the pilot were equal, and the interval is by its spread: none";
    return;
  }
  const double t = TQuantile(static_cast<double>(pilot - 1), 1 - kLevel / 2);
  SetInterval(estimate, t * pilot_sd / std::sqrt(static_cast<double>(estimate.n)),
              "Stein's two stages: the spread is the pilot's");
}

// The t test of a mixture over sizes of the effect, Gaussian in standard deviations, with Haar's
// prior on the scale (Gonen and others 2005; Wang and Ramdas 2023): its ratio of likelihoods
// exceeds 1/5 % at any n in at most 5 % of studies (Ville), and the interval is where it does not.
std::optional<double> AlwaysValidHalfWidth(int64_t n) {
  const auto count = static_cast<double>(n);
  const double shrunk = 1 + count * kPrior;
  const double bound = std::exp((2 * std::log(1 / kLevel) + std::log(shrunk)) / count);
  if (n < 2 || bound >= shrunk) return std::nullopt;
  // t^2 / (n - 1) at the edge.
  const double edge = (bound - 1) / (1 - bound / shrunk);
  return std::sqrt((count - 1) * edge / count);
}

void SetAlwaysValidInterval(Estimate& estimate, std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite),
                       [](double v) { return std::isfinite(v); });
  const double sd = SdOf(finite);
  if (!estimate.value || !(sd > 0)) return;
  const std::optional<double> half = AlwaysValidHalfWidth(static_cast<int64_t>(finite.size()));
  if (half) return SetInterval(estimate, *half * sd, "holds at every look, after each member");
  estimate.low = estimate.high = std::nullopt;
  estimate.method.clear();
  estimate.note = "an interval that holds at every look needs four members";
}

}  // namespace noisefloor::analysis
