#include "coordinator/analysis/contrast.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "common/base/check.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kLeastDraws = 3;

// As JackknifeVariance.
double VarianceOf(double all, std::span<const double> without) {
  double squares = 0;
  for (const double value : without) squares += (value - all) * (value - all);
  const auto n = static_cast<double>(without.size());
  return squares * (n - 1) / n;
}

// What is told of b.all - a.all. Absent error: there are fewer than three draws.
struct Telling {
  Scale scale = Scale::kDifference;
  std::string unit;    // Of a difference.
  std::string method;  // Of the error, in words.
};

Contrast Tell(const Jackknifed& a, const Jackknifed& b,
              const std::optional<ErrorOfDifference>& error, const Telling& telling) {
  const bool is_ratio = telling.scale == Scale::kRatio;
  // What is less, beside the two terms that it is left of, is rounding.
  const double rounding = kRounding * std::max(std::abs(a.all), std::abs(b.all));
  double delta = b.all - a.all;
  if (std::isfinite(delta) && std::abs(delta) <= rounding) delta = 0;
  Contrast contrast;
  Estimate& estimate = contrast.estimate;
  estimate.n = std::min(a.n, b.n);
  estimate.unit = is_ratio ? "ratio" : telling.unit;
  if (!std::isfinite(delta)) {
    estimate.note = "a side does not vary, or has no such figure";
    return contrast;
  }
  estimate.value = is_ratio ? std::exp(delta) : delta;
  estimate.method = (is_ratio ? "difference of logarithms; " : "difference; ") + telling.method;
  if (!error) {
    estimate.note = "needs three draws, there are " + std::to_string(estimate.n) + ": no interval";
    return contrast;
  }
  const double of_delta = std::sqrt(error->variance);
  if (!std::isfinite(of_delta)) {
    estimate.note = "without one of the draws a side does not vary: no interval";
    return contrast;
  }
  if (!(of_delta > rounding)) {
    estimate.note = "leaving out any one draw changes nothing: no interval";
    return contrast;
  }
  contrast.error = error;
  const double half = TQuantile(error->degrees, 1 - kLevel / 2) * of_delta;
  estimate.low = is_ratio ? std::exp(delta - half) : delta - half;
  estimate.high = is_ratio ? std::exp(delta + half) : delta + half;
  contrast.p = TwoSidedP(delta / of_delta, error->degrees);
  return contrast;
}

bool HasError(const Jackknifed& figure) {
  return figure.n >= kLeastDraws && !figure.without.empty();
}

// The values whose mean it is: n * mean - (n - 1) * mean without each.
std::vector<double> ValuesOf(const Jackknifed& mean) {
  const auto n = static_cast<double>(mean.n);
  std::vector<double> values;
  for (const double without : mean.without) values.push_back(n * mean.all - (n - 1) * without);
  return values;
}

constexpr double kSame = 1e-9;  // Values are equal but for the rounding of ValuesOf.

// 1 where b is above, 1/2 where they are equal.
double Above(double a, double b) { return std::abs(b - a) <= kSame ? 0.5 : b > a ? 1 : 0; }

// For each value the share of the others below it, equals counted half.
std::vector<double> SharesBelow(const std::vector<double>& values, std::vector<double> others) {
  std::ranges::sort(others);
  std::vector<double> shares;
  for (const double value : values) {
    const auto below = std::ranges::lower_bound(others, value - kSame) - others.begin();
    const auto up_to = std::ranges::upper_bound(others, value + kSame) - others.begin();
    shares.push_back(static_cast<double>(below + up_to) / 2 / static_cast<double>(others.size()));
  }
  return shares;
}

// Of the mean of `above`, which is that of `below`, too.
std::optional<Interval> BrunnerMunzel(double value, std::span<const double> below,
                                      std::span<const double> above) {
  if (std::min(std::ssize(below), std::ssize(above)) < kLeastDraws) return std::nullopt;
  const auto variance = [](std::span<const double> side) {
    const double sd = SdOf(side);
    return sd * sd / static_cast<double>(side.size());
  };
  const ErrorOfDifference error =
      AddErrors(variance(below), std::ssize(below), variance(above), std::ssize(above));
  if (!(std::sqrt(error.variance) > kRounding)) return std::nullopt;
  const double half = TQuantile(error.degrees, 1 - kLevel / 2) * std::sqrt(error.variance);
  return Interval{value - half, value + half};
}

}  // namespace

double JackknifeVariance(const Jackknifed& figure) {
  return VarianceOf(figure.all, figure.without);
}

Jackknifed MeanWithoutEach(std::span<const double> values) {
  NF_CHECK(!values.empty());
  Jackknifed figure;
  figure.n = static_cast<int64_t>(values.size());
  figure.all = MeanOf(values);
  if (figure.n < 2) return figure;
  // Equal values stay equal whichever is left out.
  const bool equal = std::ranges::all_of(values, [&](double v) { return v == values[0]; });
  if (equal) figure.all = values[0];
  const auto n = static_cast<double>(figure.n);
  for (const double value : values) {
    figure.without.push_back(equal ? values[0] : (n * figure.all - value) / (n - 1));
  }
  return figure;
}

Jackknifed LogSdWithoutEach(std::span<const double> values) {
  NF_CHECK(values.size() >= 2);
  Jackknifed figure;
  figure.n = static_cast<int64_t>(values.size());
  figure.all = std::log(SdOf(values));
  if (figure.n < kLeastDraws) return figure;
  std::vector<double> rest(values.begin() + 1, values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    figure.without.push_back(std::log(SdOf(rest)));
    if (i < rest.size()) rest[i] = values[i];  // Draw i is back, i + 1 is out.
  }
  return figure;
}

Jackknifed LogPooledSdWithoutEach(std::span<const std::vector<double>> groups) {
  std::vector<double> squares;
  std::vector<double> degrees;
  for (const std::vector<double>& group : groups) {
    if (group.size() < 2) continue;
    const double sd = SdOf(group);
    degrees.push_back(static_cast<double>(group.size()) - 1);
    squares.push_back(sd * sd * degrees.back());
  }
  NF_CHECK(!squares.empty());
  // Of all groups but one; `squares.size()`: of all.
  const auto log_sd = [&](size_t left_out) {
    double sum = 0;
    double of = 0;
    for (size_t k = 0; k < squares.size(); ++k) {
      if (k == left_out) continue;
      sum += squares[k];
      of += degrees[k];
    }
    return 0.5 * std::log(sum / of);
  };
  Jackknifed figure;
  figure.n = static_cast<int64_t>(squares.size());
  figure.all = log_sd(squares.size());
  if (figure.n < kLeastDraws) return figure;
  for (size_t k = 0; k < squares.size(); ++k) figure.without.push_back(log_sd(k));
  return figure;
}

Jackknifed PairMeanWithoutEach(const PairSums& sums) {
  NF_CHECK(sums.of_member.size() >= 2);
  return PairMeanWithoutEach(sums, SameForAllPairs(sums.of_member.size(), 1));
}

Jackknifed PairMeanWithoutEach(const PairSums& sums, const PairSums& counts) {
  NF_CHECK(counts.total > 0 && sums.of_member.size() == counts.of_member.size());
  Jackknifed figure;
  figure.n = std::ssize(sums.of_member);
  figure.all = sums.total / counts.total;
  for (size_t i = 0; i < sums.of_member.size(); ++i) {
    const double left = counts.total - counts.of_member[i];
    if (left > 0) figure.without.push_back((sums.total - sums.of_member[i]) / left);
  }
  // One that is in all pairs leaves nothing.
  if (std::ssize(figure.without) < figure.n) figure.without.clear();
  return figure;
}

ErrorOfDifference AddErrors(double of_a, int64_t n_a, double of_b, int64_t n_b) {
  const double squares =
      of_a * of_a / static_cast<double>(n_a - 1) + of_b * of_b / static_cast<double>(n_b - 1);
  return {of_a + of_b, squares > 0 ? (of_a + of_b) * (of_a + of_b) / squares : 1};
}

Jackknifed MeanOfFigures(std::span<const Jackknifed> figures) {
  NF_CHECK(!figures.empty());
  Jackknifed mean;
  mean.n = figures[0].n;
  mean.without.assign(figures[0].without.size(), 0.0);
  const auto count = static_cast<double>(figures.size());
  for (const Jackknifed& figure : figures) {
    NF_CHECK(figure.n == mean.n && figure.without.size() == mean.without.size());
    mean.all += figure.all / count;
    for (size_t i = 0; i < mean.without.size(); ++i) mean.without[i] += figure.without[i] / count;
  }
  return mean;
}

Contrast PairedContrast(const Jackknifed& a, const Jackknifed& b, Scale scale,
                        const std::string& unit) {
  NF_CHECK(a.n == b.n && a.without.size() == b.without.size());
  std::optional<ErrorOfDifference> error;
  if (HasError(a)) {
    std::vector<double> without;
    for (size_t i = 0; i < a.without.size(); ++i) without.push_back(b.without[i] - a.without[i]);
    error = ErrorOfDifference{VarianceOf(b.all - a.all, without), static_cast<double>(a.n - 1)};
  }
  Contrast contrast = Tell(
      a, b, error, {scale, unit, "jackknife leaving out one draw from both sides, Student's t"});
  if (contrast.p && scale == Scale::kDifference) {
    const double sd = std::sqrt(error->variance * static_cast<double>(a.n));
    contrast.estimate.detectable = DetectablePairedDifference(a.n, sd);
    contrast.estimate.detectable_kind = "difference";
  }
  return contrast;
}

Contrast UnpairedContrast(const Jackknifed& a, const Jackknifed& b, Scale scale,
                          const std::string& unit) {
  std::optional<ErrorOfDifference> error;
  if (HasError(a) && HasError(b)) {
    error = AddErrors(JackknifeVariance(a), a.n, JackknifeVariance(b), b.n);
  }
  return Tell(a, b, error, {scale, unit, "a jackknife on each side, Welch's degrees of freedom"});
}

Estimate ProbabilityAbove(const Jackknifed& a, const Jackknifed& b, bool paired) {
  const std::vector<double> of_a = ValuesOf(a);
  const std::vector<double> of_b = ValuesOf(b);
  Estimate estimate;
  estimate.unit = "fraction";
  estimate.n = std::min(a.n, b.n);
  if (of_a.empty() || of_b.empty()) {
    estimate.note = "needs two draws on each side";
    return estimate;
  }
  std::optional<Interval> interval;
  if (paired) {
    NF_CHECK(of_a.size() == of_b.size());
    double above = 0;
    for (size_t i = 0; i < of_a.size(); ++i) above += Above(of_a[i], of_b[i]);
    estimate.value = above / static_cast<double>(of_a.size());
    estimate.method = "share of the draws, equals counted half; Wilson";
    interval = WilsonInterval(above, estimate.n);
  } else {
    // For each draw of a side, the share of the other side's draws that it is above, or below.
    std::vector<double> above = SharesBelow(of_b, of_a);
    std::vector<double> below = SharesBelow(of_a, of_b);
    for (double& share : below) share = 1 - share;
    estimate.value = MeanOf(above);
    estimate.method =
        "share of the pairs of a draw of each side, equals counted half; Brunner and "
        "Munzel";
    interval = BrunnerMunzel(*estimate.value, below, above);
    if (!interval) {
      estimate.note = estimate.n < kLeastDraws ? "fewer than three draws on a side: no interval"
                                               : "the sides do not overlap: no interval";
      return estimate;
    }
  }
  estimate.low = interval->low;
  estimate.high = interval->high;
  CutInterval(estimate, 0, 1);
  return estimate;
}

}  // namespace noisefloor::analysis
