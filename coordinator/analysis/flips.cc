#include "coordinator/analysis/flips.h"

#include <cmath>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/contrast.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kLeastMembers = 3;

bool IsWrong(int16_t answer, int32_t label) { return answer < 0 || answer != label; }

// n / (n - 1) eps (1 - eps) = w (n - w) / (n (n - 1)) where w of n members are wrong: the logarithm
// of its sum over the examples, in examples^2.
double LogVariance(double sum_of_products, double members) {
  return std::log(sum_of_products / (members * (members - 1)));
}

// ln of the variance from flips, of all members and without each.
Jackknifed LogVarianceOfFlips(const PredictionMatrix& answers, std::span<const int32_t> labels) {
  const int64_t n = answers.members();
  std::vector<int64_t> wrong(labels.size(), 0);
  for (int64_t m = 0; m < n; ++m) {
    for (size_t x = 0; x < labels.size(); ++x) wrong[x] += IsWrong(answers.Row(m)[x], labels[x]);
  }
  double all = 0;
  double without_right = 0;  // Of sum w (n - 1 - w): where a member that is right is left out.
  for (const int64_t w : wrong) {
    all += static_cast<double>(w * (n - w));
    without_right += static_cast<double>(w * (n - 1 - w));
  }
  Jackknifed figure;
  figure.n = n;
  figure.all = LogVariance(all, static_cast<double>(n));
  for (int64_t m = 0; m < n; ++m) {
    double sum = without_right;
    for (size_t x = 0; x < labels.size(); ++x) {
      if (!IsWrong(answers.Row(m)[x], labels[x])) continue;
      const int64_t w = wrong[x];
      sum += static_cast<double>((w - 1) * (n - w) - w * (n - 1 - w));
    }
    figure.without.push_back(LogVariance(sum, static_cast<double>(n - 1)));
  }
  return figure;
}

// ln of the variance of the numbers of right answers, in examples^2.
Jackknifed LogVarianceOfAccuracy(const PredictionMatrix& answers, std::span<const int32_t> labels) {
  std::vector<double> right;
  for (int64_t m = 0; m < answers.members(); ++m) {
    int64_t count = 0;
    for (size_t x = 0; x < labels.size(); ++x) count += !IsWrong(answers.Row(m)[x], labels[x]);
    right.push_back(static_cast<double>(count));
  }
  Jackknifed figure = LogSdWithoutEach(right);
  figure.all *= 2;
  for (double& value : figure.without) value *= 2;
  return figure;
}

}  // namespace

FlipNoise NoiseOfFlips(const PredictionMatrix& answers, std::span<const int32_t> labels) {
  NF_CHECK(!labels.empty() && static_cast<int64_t>(labels.size()) == answers.examples());
  const int64_t n = answers.members();
  FlipNoise noise;
  if (n < kLeastMembers) {
    noise.sd = Absent("fraction", n, "needs three members, there are " + std::to_string(n));
    noise.share = Absent("ratio", n, noise.sd.note);
    return noise;
  }
  const Jackknifed flips = LogVarianceOfFlips(answers, labels);
  const Jackknifed accuracy = LogVarianceOfAccuracy(answers, labels);
  noise.share = PairedContrast(accuracy, flips, Scale::kRatio, "ratio").estimate;
  // The same as B / A beside an A that never changes: one answer of all examples.
  Jackknifed one;
  one.n = n;
  one.all = std::log(static_cast<double>(labels.size()));
  one.without.assign(static_cast<size_t>(n), one.all);
  Jackknifed root = flips;
  root.all /= 2;
  for (double& value : root.without) value /= 2;
  noise.sd = PairedContrast(one, root, Scale::kRatio, "fraction").estimate;
  noise.sd.unit = "fraction";
  if (!noise.sd.value) {  // ln 0: nobody flips.
    noise.sd = Absent("fraction", n, "");
    noise.sd.value = 0;
    noise.sd.note = "no member is right where another is wrong: no interval";
    return noise;
  }
  const char* method = "of independent flips of the same error rates; jackknife of its logarithm";
  noise.sd.method = "standard deviation " + std::string(method);
  noise.share.method = "variance " + std::string(method) + ", over that of top-1";
  return noise;
}

Estimate ChurnToError(const PredictionMatrix& answers, std::span<const int32_t> labels) {
  NF_CHECK(!labels.empty() && static_cast<int64_t>(labels.size()) == answers.examples());
  const int64_t n = answers.members();
  if (n < 2) return Absent("ratio", n, "needs two members, there are " + std::to_string(n));
  std::vector<double> errors;
  for (int64_t m = 0; m < n; ++m) errors.push_back(1 - Accuracy(answers.Row(m), labels));
  Jackknifed error = MeanWithoutEach(errors);
  if (!(error.all > 0)) return Absent("ratio", n, "the error rate is zero");
  Jackknifed churn = PairMeanWithoutEach(ChurnSums(answers));
  if (churn.all == 0) {
    Estimate none = Absent("ratio", n, "no two members differ: no interval");
    none.value = 0;
    return none;
  }
  if (n < kLeastMembers) error.without.clear();  // As of the churn.
  for (Jackknifed* figure : {&error, &churn}) {
    figure->all = std::log(figure->all);
    for (double& value : figure->without) value = std::log(value);
  }
  Estimate ratio = PairedContrast(error, churn, Scale::kRatio, "ratio").estimate;
  ratio.method =
      "churn / (1 - mean accuracy); 1 under class-wise calibration; jackknife of the logarithm, "
      "leaving out one member from both, Student's t";
  return ratio;
}

}  // namespace noisefloor::analysis
