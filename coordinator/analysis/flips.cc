#include "coordinator/analysis/flips.h"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/contrast.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kLeastMembers = 3;

bool IsWrong(int16_t answer, int32_t label) { return answer < 0 || answer != label; }

// Wrong answers of a member on each example, of `decisions` columns.
std::vector<int64_t> WrongOf(std::span<const int16_t> row, std::span<const int32_t> labels,
                             int64_t decisions) {
  std::vector<int64_t> wrong(labels.size());
  for (size_t x = 0; x < labels.size(); ++x) wrong[x] = IsWrong(row[x], labels[x]);
  if (decisions == 1) return wrong;
  std::vector<int64_t> of_example;
  for (auto first = wrong.begin(); first != wrong.end(); first += decisions) {
    of_example.push_back(std::accumulate(first, first + decisions, int64_t{0}));
  }
  return of_example;
}

// The variance of c (ddof 1) is (n sum c^2 - (sum c)^2) / (n (n - 1)) over n members; where c is 0
// or 1, w of them 1, that is w (n - w) / (n (n - 1)) = n / (n - 1) eps (1 - eps): the logarithm of
// its sum over the examples, in answers^2.
double LogVariance(double sum_of_products, double members) {
  return std::log(sum_of_products / (members * (members - 1)));
}

// ln of the variance from flips, of all members and without each.
Jackknifed LogVarianceOfFlips(const PredictionMatrix& answers, std::span<const int32_t> labels,
                              int64_t decisions) {
  const int64_t n = answers.members();
  const size_t examples = labels.size() / static_cast<size_t>(decisions);
  std::vector<int64_t> sums(examples, 0);  // Over members, of what is wrong; and its squares.
  std::vector<int64_t> squares(examples, 0);
  for (int64_t m = 0; m < n; ++m) {
    const std::vector<int64_t> wrong = WrongOf(answers.Row(m), labels, decisions);
    for (size_t x = 0; x < examples; ++x) {
      sums[x] += wrong[x];
      squares[x] += wrong[x] * wrong[x];
    }
  }
  int64_t all = 0;
  int64_t without_right = 0;  // Where the member that is left out is all right.
  for (size_t x = 0; x < examples; ++x) {
    all += n * squares[x] - sums[x] * sums[x];
    without_right += (n - 1) * squares[x] - sums[x] * sums[x];
  }
  Jackknifed figure;
  figure.n = n;
  figure.all = LogVariance(static_cast<double>(all), static_cast<double>(n));
  for (int64_t m = 0; m < n; ++m) {
    const std::vector<int64_t> wrong = WrongOf(answers.Row(m), labels, decisions);
    int64_t sum = without_right;
    for (size_t x = 0; x < examples; ++x) {
      const int64_t w = wrong[x];  // (n - 1)(q - w^2) - (s - w)^2 for (n - 1) q - s^2.
      sum += w * (2 * sums[x] - n * w);
    }
    figure.without.push_back(LogVariance(static_cast<double>(sum), static_cast<double>(n - 1)));
  }
  return figure;
}

// ln of the variance of the numbers of right answers, in answers^2.
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

FlipNoise NoiseOfFlips(const PredictionMatrix& answers, std::span<const int32_t> labels,
                       int64_t decisions) {
  NF_CHECK(!labels.empty() && static_cast<int64_t>(labels.size()) == answers.examples());
  NF_CHECK(decisions >= 1 && answers.examples() % decisions == 0);
  const int64_t n = answers.members();
  FlipNoise noise;
  if (n < kLeastMembers) {
    noise.sd = Absent("fraction", n, "needs three members, there are " + std::to_string(n));
    noise.share = Absent("ratio", n, noise.sd.note);
    return noise;
  }
  const Jackknifed flips = LogVarianceOfFlips(answers, labels, decisions);
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
    noise.sd.note = decisions == 1
                        ? "no member is right where another is wrong: no interval"
                        : "on each example all members have as many right decisions: no interval";
    return noise;
  }
  const std::string method =
      decisions == 1 ? "of independent flips of the same error rates; jackknife of its logarithm"
                     : "of examples that flip independently, each with all its decisions; "
                       "jackknife of its logarithm";
  noise.sd.method = "standard deviation " + method;
  noise.share.method = "variance " + method + ", over that of top-1";
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
