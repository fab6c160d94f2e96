#include "coordinator/analysis/hardware.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

// Sums over values of a known number of lanes, which compilers keep in vectors.
constexpr size_t kLanes = 8;
using Lanes = std::array<double, kLanes>;

double SumOf(const Lanes& lanes) { return std::accumulate(lanes.begin(), lanes.end(), 0.0); }

// value(i) summed over i in [0, count).
template <typename Value>
double SumInLanes(size_t count, const Value& value) {
  Lanes lanes{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) lanes[l] += value(i + l);
  }
  double sum = SumOf(lanes);
  for (; i < count; ++i) sum += value(i);
  return sum;
}

// (value - mean) / norm of each, added up over members: {values}.
void AddNormalised(const Logits& logits, std::vector<double>& sums) {
  const double scale = 1 / logits.norm;
  const double mean = logits.mean;
  const float* const values = logits.values.data();
  double* const into = sums.data();
  for (size_t i = 0; i < logits.values.size(); ++i) into[i] += (values[i] - mean) * scale;
}

// Products of normalised logits: of a pair, and of each with the sum of all of the other side.
struct Products {
  double own = 0;
  double a_with_all = 0;
  double b_with_all = 0;
};

Products ProductsOf(const Logits& a, const Logits& b, std::span<const double> sum_a,
                    std::span<const double> sum_b) {
  const double scale_a = 1 / a.norm;
  const double scale_b = 1 / b.norm;
  Products products;
  const float* const of_a = a.values.data();
  const float* const of_b = b.values.data();
  Lanes own{};
  Lanes a_with_all{};
  Lanes b_with_all{};
  const auto add = [&](size_t i, size_t lane) {
    const double x = (of_a[i] - a.mean) * scale_a;
    const double y = (of_b[i] - b.mean) * scale_b;
    own[lane] += x * y;
    a_with_all[lane] += x * sum_b[i];
    b_with_all[lane] += y * sum_a[i];
  };
  size_t i = 0;
  for (; i + kLanes <= a.values.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) add(i + l, l);
  }
  for (size_t l = 0; i < a.values.size(); ++i, ++l) add(i, l);
  return {SumOf(own), SumOf(a_with_all), SumOf(b_with_all)};
}

// What the values over pairs of replicates are: their unit, their bounds, and what one is divided
// by, so that counts are added up whole and divided once.
struct Values {
  std::string unit;
  Bounds bounds;
  double divisor = 1;
};

// Means of r against s, r != s; the jackknife leaves out a replicate. `of_replicate`: value(r, s) +
// value(s, r) added up over s, for each r.
Estimate MeanOverReplicates(std::vector<double> of_replicate, const Values& values) {
  const size_t n = of_replicate.size();
  PairSums sums;
  sums.total = std::accumulate(of_replicate.begin(), of_replicate.end(), 0.0) / 2;
  sums.of_member = std::move(of_replicate);
  const PairSums divisors = SameForAllPairs(n, 2 * values.divisor);
  Estimate estimate = PairMean(sums, divisors, values.unit, values.bounds);
  if (estimate.value) {
    estimate.method = "mean over unequal replicates; jackknife leaving out one replicate";
  }
  return estimate;
}

// What differs from the first value by no more than the rounding of terms as large as `terms`
// becomes equal to it; what is no more than that itself becomes 0.
void RemoveRounding(std::vector<double>& values, double terms) {
  const double rounding = kRounding * terms;
  std::optional<double> first;
  for (double& value : values) {
    if (!std::isfinite(value)) continue;
    if (std::abs(value) <= rounding) value = 0;
    if (!first) first = value;
    if (std::abs(value - *first) <= rounding) value = *first;
  }
}

// Correlations crowd below 1, and a symmetric interval goes beyond it: that of log(1 - r), back. By
// the delta method its error is that of r divided by 1 - r.
void OnTheScaleOfUnlikeness(Estimate& estimate) {
  if (!estimate.value || !estimate.low || !estimate.high) return;
  const double unlike = 1 - *estimate.value;
  if (unlike <= kRounding) {
    CutInterval(estimate, -1, 1);
    return;
  }
  const double half = (*estimate.high - *estimate.value) / unlike;
  estimate.low = 1 - unlike * std::exp(half);
  estimate.high = 1 - unlike * std::exp(-half);
  estimate.method += ", of log(1 - r)";
  CutInterval(estimate, -1, 1);
}

void CheckSides(const PredictionMatrix& a, const PredictionMatrix& b) {
  NF_CHECK(a.members() == b.members() && a.examples() == b.examples() && a.examples() > 0);
}

// For each replicate: how often its members on A and B differ from those of the other replicates on
// the other side.
std::vector<int64_t> DifferingAcross(const DifferingOfSides& differing, const PredictionMatrix& a,
                                     const PredictionMatrix& b) {
  std::vector<int64_t> across = differing.across[0];
  for (size_t r = 0; r < across.size(); ++r) {
    const auto replicate = static_cast<int64_t>(r);
    across[r] += differing.across[1][r] - 2 * CountDiffering(a.Row(replicate), b.Row(replicate));
  }
  return across;
}

Estimate ExcessOf(const DifferingOfSides& differing, const std::vector<int64_t>& across,
                  int64_t examples) {
  // Whole numbers cancel exactly: fractions would leave rounding where nothing is left.
  std::vector<double> excess;
  for (size_t r = 0; r < across.size(); ++r) {
    excess.push_back(
        static_cast<double>(2 * (across[r] - differing.inside[0][r] - differing.inside[1][r])));
  }
  Estimate estimate = MeanOverReplicates(std::move(excess),
                                         {"fraction", {-1, 1}, static_cast<double>(2 * examples)});
  if (estimate.detectable) {  // It is compared with 0, not with another excess.
    const int64_t n = estimate.n;
    estimate.detectable =
        *estimate.detectable * *DetectablePairedDifference(n, 1) / *DetectableMeanDifference(n, 1);
  }
  return estimate;
}

}  // namespace

Estimate PairedDifference(std::span<const double> a, std::span<const double> b,
                          const std::string& unit) {
  NF_CHECK(a.size() == b.size());
  std::vector<double> differences;
  double terms = 0;
  for (size_t r = 0; r < a.size(); ++r) {
    differences.push_back(b[r] - a[r]);
    if (!std::isfinite(differences.back())) continue;
    terms = std::max({terms, std::abs(a[r]), std::abs(b[r])});
  }
  RemoveRounding(differences, terms);
  Estimate estimate = MeanEstimate(differences, unit);
  if (!estimate.value) return estimate;
  if (std::abs(*estimate.value) <= kRounding * terms) estimate.value = 0;
  estimate.method = "mean of paired differences; Student's t over replicates";
  std::erase_if(differences, [](double value) { return !std::isfinite(value); });
  if (estimate.detectable) {
    estimate.detectable = DetectablePairedDifference(estimate.n, SdOf(differences));
  }
  return estimate;
}

Estimate CorrelationOfPairs(std::span<const double> a, std::span<const double> b) {
  NF_CHECK(a.size() == b.size());
  std::vector<double> x;
  std::vector<double> y;
  for (size_t r = 0; r < a.size(); ++r) {
    if (!std::isfinite(a[r]) || !std::isfinite(b[r])) continue;
    x.push_back(a[r]);
    y.push_back(b[r]);
  }
  const int64_t n = static_cast<int64_t>(x.size());
  if (n < 3) {
    return Absent("correlation", n, "needs three pairs, there are " + std::to_string(n));
  }
  const double sd_x = SdOf(x);
  const double sd_y = SdOf(y);
  if (sd_x == 0 || sd_y == 0) return Absent("correlation", n, "one side does not vary");
  const double mean_x = MeanOf(x);
  const double mean_y = MeanOf(y);
  double product = 0;
  for (size_t r = 0; r < x.size(); ++r) product += (x[r] - mean_x) * (y[r] - mean_y);
  Estimate estimate;
  estimate.value = std::clamp(product / static_cast<double>(n - 1) / (sd_x * sd_y), -1.0, 1.0);
  estimate.n = n;
  estimate.unit = "correlation";
  estimate.method = "Pearson over replicates; Fisher's z, assumes normal values";
  const std::optional<Interval> interval = CorrelationInterval(*estimate.value, n);
  if (!interval) {
    estimate.note = "no interval from " + std::to_string(n) + " pairs";
    return estimate;
  }
  estimate.low = interval->low;
  estimate.high = interval->high;
  return estimate;
}

Estimate PairedChurn(const PredictionMatrix& a, const PredictionMatrix& b) {
  CheckSides(a, b);
  std::vector<double> churn;
  for (int64_t r = 0; r < a.members(); ++r) churn.push_back(Churn(a.Row(r), b.Row(r)));
  Estimate estimate = MeanEstimate(churn, "fraction");
  if (!estimate.value) return estimate;
  estimate.method = "mean over pairs of equal replicate; Student's t";
  CutInterval(estimate, 0, 1);
  return estimate;
}

ChurnOfSides CompareSides(const PredictionMatrix& a, const PredictionMatrix& b) {
  CheckSides(a, b);
  const DifferingOfSides differing = CountDifferingOfSides(a, b);
  const std::vector<int64_t> across = DifferingAcross(differing, a, b);
  const int64_t examples = a.examples();
  return {PairMean(ChurnSums(differing.inside[0], examples), "fraction", {0, 1}),
          PairMean(ChurnSums(differing.inside[1], examples), "fraction", {0, 1}),
          MeanOverReplicates({across.begin(), across.end()},
                             {"fraction", {0, 1}, static_cast<double>(examples)}),
          ExcessOf(differing, across, examples)};
}

Logits::Logits(std::span<const float> of) : values(of) {
  if (of.empty()) return;
  const double sum = SumInLanes(of.size(), [&](size_t i) { return double{of[i]}; });
  mean = sum / static_cast<double>(of.size());
  const double squares = SumInLanes(of.size(), [&](size_t i) {
    const double deviation = of[i] - mean;
    return deviation * deviation;
  });
  if (std::isfinite(squares)) norm = std::sqrt(squares);
}

LogitsCorrelations CorrelateLogits(std::span<const Logits> a, std::span<const Logits> b) {
  NF_CHECK(a.size() == b.size());
  std::vector<size_t> usable;
  for (size_t r = 0; r < a.size(); ++r) {
    const size_t size = usable.empty() ? a[r].values.size() : a[usable[0]].values.size();
    const bool equal = a[r].values.size() == size && b[r].values.size() == size;
    if (equal && a[r].norm > 0 && b[r].norm > 0) usable.push_back(r);
  }
  // Correlations with all others are products with a sum.
  const size_t size = usable.empty() ? 0 : a[usable[0]].values.size();
  std::vector<double> sum_a(size, 0);
  std::vector<double> sum_b(size, 0);
  for (const size_t r : usable) {
    AddNormalised(a[r], sum_a);
    AddNormalised(b[r], sum_b);
  }
  std::vector<double> paired;
  std::vector<double> unpaired;
  for (const size_t r : usable) {
    const Products products = ProductsOf(a[r], b[r], sum_a, sum_b);
    paired.push_back(std::clamp(products.own, -1.0, 1.0));
    unpaired.push_back(products.a_with_all + products.b_with_all - 2 * products.own);
  }
  RemoveRounding(paired, 1);
  LogitsCorrelations result{MeanEstimate(paired, "correlation"),
                            MeanOverReplicates(std::move(unpaired), {"correlation", {-1}})};
  for (Estimate* estimate : {&result.paired, &result.unpaired}) OnTheScaleOfUnlikeness(*estimate);
  if (usable.size() == a.size()) return result;
  for (Estimate* estimate : {&result.paired, &result.unpaired}) {
    AddNote(*estimate, std::to_string(a.size() - usable.size()) +
                           " pairs left out: logits missing, not finite or constant");
  }
  return result;
}

}  // namespace noisefloor::analysis
