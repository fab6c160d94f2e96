#include "coordinator/analysis/equivalence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kLeastDraws = 3;
constexpr int64_t kMostDraws = 1000000;
constexpr int kNodes = 400;  // Of equal probability, over the distribution of the estimated error.

// A shift is what is left of churns as large as `terms`: what is no more than their rounding is 0,
// and a draw whose absence changes no more changes nothing.
void RemoveRounding(Jackknifed& shift, double terms) {
  const double rounding = kRounding * terms;
  if (std::abs(shift.all) <= rounding) shift.all = 0;
  for (double& without : shift.without) {
    if (std::abs(without - shift.all) <= rounding) without = shift.all;
  }
}

Difference PairedShift(const PredictionMatrix& a, const PredictionMatrix& b) {
  NF_CHECK(a.members() == b.members());
  PairMatrix excess(a.members());
  double most = 0;
  for (int64_t r = 0; r < a.members(); ++r) {
    for (int64_t s = r + 1; s < a.members(); ++s) {
      const double across = Churn(a.Row(r), b.Row(s)) + Churn(a.Row(s), b.Row(r));
      const double inside = Churn(a.Row(r), a.Row(s)) + Churn(b.Row(r), b.Row(s));
      excess.Set(r, s, (across - inside) / 2);
      most = std::max({most, across, inside});
    }
  }
  Jackknifed shift = PairMeanWithoutEach(SumPairs(excess));
  RemoveRounding(shift, most);
  const Jackknifed none = {0, std::vector<double>(shift.without.size(), 0), shift.n};
  return DifferenceOf(none, shift, /*paired=*/true);
}

Difference UnpairedShift(const PredictionMatrix& a, const PredictionMatrix& b) {
  const Jackknifed inside_a = PairMeanWithoutEach(ChurnSums(a));
  const Jackknifed inside_b = PairMeanWithoutEach(ChurnSums(b));
  const auto n_a = static_cast<double>(a.members());
  const auto n_b = static_cast<double>(b.members());
  std::vector<double> across_a(static_cast<size_t>(a.members()), 0);
  std::vector<double> across_b(static_cast<size_t>(b.members()), 0);
  double total = 0;
  for (int64_t i = 0; i < a.members(); ++i) {
    for (int64_t j = 0; j < b.members(); ++j) {
      const double apart = Churn(a.Row(i), b.Row(j));
      across_a[static_cast<size_t>(i)] += apart;
      across_b[static_cast<size_t>(j)] += apart;
      total += apart;
    }
  }
  // A - B as two figures whose draws have nothing in common: what changes when one draw of either
  // side is left out.
  const double mean = total / (n_a * n_b);
  const double terms = std::max({mean, inside_a.all, inside_b.all});
  const double all = mean - (inside_a.all + inside_b.all) / 2;
  Jackknifed of_a{0, {}, inside_a.n};
  Jackknifed of_b{all, {}, inside_b.n};
  for (size_t i = 0; i < inside_a.without.size(); ++i) {
    const double without = (total - across_a[i]) / ((n_a - 1) * n_b);
    of_a.without.push_back(all - (without - (inside_a.without[i] + inside_b.all) / 2));
  }
  for (size_t j = 0; j < inside_b.without.size(); ++j) {
    const double without = (total - across_b[j]) / ((n_b - 1) * n_a);
    of_b.without.push_back(without - (inside_a.all + inside_b.without[j]) / 2);
  }
  RemoveRounding(of_b, terms);
  RemoveRounding(of_a, terms);
  return DifferenceOf(of_a, of_b, /*paired=*/false);
}

}  // namespace

Difference DifferenceOf(const Jackknifed& a, const Jackknifed& b, bool paired) {
  const Contrast contrast = paired ? PairedContrast(a, b, Scale::kDifference, "fraction")
                                   : UnpairedContrast(a, b, Scale::kDifference, "fraction");
  Difference difference;
  difference.value = contrast.estimate.value.value_or(0);
  difference.n = std::min(a.n, b.n);
  difference.paired = paired;
  if (contrast.error) {
    difference.standard_error = std::sqrt(contrast.error->variance);
    difference.degrees = contrast.error->degrees;
    difference.sd = paired
                        ? difference.standard_error * std::sqrt(static_cast<double>(difference.n))
                        : std::sqrt(JackknifeVariance(a) * static_cast<double>(a.n) +
                                    JackknifeVariance(b) * static_cast<double>(b.n));
  }
  return difference;
}

Difference ShiftBetween(const PredictionMatrix& a, const PredictionMatrix& b, bool paired) {
  NF_CHECK(a.members() >= 2 && b.members() >= 2);
  Difference shift = paired ? PairedShift(a, b) : UnpairedShift(a, b);
  shift.one_sided = true;
  return shift;
}

std::optional<double> EquivalenceP(const Difference& difference, double margin) {
  if (difference.degrees <= 0) return std::nullopt;
  const double distance = difference.one_sided ? difference.value : std::abs(difference.value);
  return UpperP((margin - distance) / difference.standard_error, difference.degrees);
}

std::optional<double> BeyondP(const Difference& difference, double margin) {
  if (difference.degrees <= 0) return std::nullopt;
  const double distance = difference.one_sided ? difference.value : std::abs(difference.value);
  if (distance <= margin) return 1;
  return 2 * UpperP((distance - margin) / difference.standard_error, difference.degrees);
}

double EquivalencePower(int64_t n, double sd, double margin, bool paired, bool one_sided) {
  if (n < 2) return 0;
  const double degrees = static_cast<double>((paired ? 1 : 2) * (n - 1));
  const double critical = TQuantile(degrees, 1 - kLevel);
  const double in_errors = margin * std::sqrt(static_cast<double>(n)) / sd;
  double power = 0;
  for (int k = 0; k < kNodes; ++k) {
    const double chi_square = ChiSquareQuantile(degrees, (k + 0.5) / kNodes);
    const double limit = in_errors - critical * std::sqrt(chi_square / degrees);
    const double below = NormalProbability(limit);
    power += one_sided ? below : std::max(0.0, 2 * below - 1);
  }
  return power / kNodes;
}

std::optional<int64_t> DrawsToDecide(const Difference& difference, double margin) {
  if (difference.degrees <= 0 || margin <= 0) return std::nullopt;
  const double upper = difference.sd * std::sqrt(difference.degrees /
                                                 ChiSquareQuantile(difference.degrees, 1 - kPower));
  const auto decides = [&](int64_t n) {
    return EquivalencePower(n, upper, margin, difference.paired, difference.one_sided) >= kPower;
  };
  int64_t most = kLeastDraws;
  while (!decides(most)) {
    if (most == kMostDraws) return std::nullopt;
    most = std::min(2 * most, kMostDraws);
  }
  int64_t least = kLeastDraws;
  while (least < most) {
    const int64_t middle = least + (most - least) / 2;
    if (decides(middle)) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

}  // namespace noisefloor::analysis
