#include "coordinator/analysis/per_class.h"

#include <string>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

std::vector<double> AccuracyOfRows(const PredictionMatrix& answers,
                                   std::span<const int32_t> labels) {
  std::vector<double> accuracy;
  for (int64_t m = 0; m < answers.members(); ++m) {
    accuracy.push_back(Accuracy(answers.Row(m), labels));
  }
  return accuracy;
}

// The examples of each class, in order.
std::vector<std::vector<int64_t>> ExamplesByClass(const PredictionMatrix& answers,
                                                  std::span<const int32_t> labels) {
  NF_CHECK(labels.size() == static_cast<size_t>(answers.examples()));
  std::vector<std::vector<int64_t>> examples(static_cast<size_t>(answers.classes()));
  for (size_t x = 0; x < labels.size(); ++x) {
    if (labels[x] < 0 || labels[x] >= answers.classes()) continue;
    examples[static_cast<size_t>(labels[x])].push_back(static_cast<int64_t>(x));
  }
  return examples;
}

Estimate Ratio(const Estimate& of_class, const Estimate& overall) {
  const int64_t n = overall.n;
  if (!of_class.value || !overall.value) return Absent("ratio", n, "a spread is absent");
  if (*overall.value == 0) return Absent("ratio", n, "the overall spread is zero");
  Estimate ratio;
  ratio.value = *of_class.value / *overall.value;
  ratio.n = n;
  ratio.unit = "ratio";
  ratio.method = "spread of the class / overall spread, the same members";
  return ratio;
}

ClassNoise WithoutExamples(int32_t label) {
  const Estimate absent = Absent("fraction", 0, "the class has no examples");
  return {label, 0, absent, absent, absent, Absent("ratio", 0, absent.note), absent};
}

}  // namespace

std::vector<ClassNoise> NoiseByClass(const PredictionMatrix& answers,
                                     std::span<const int32_t> labels) {
  const std::vector<std::vector<int64_t>> examples = ExamplesByClass(answers, labels);
  const Estimate overall = labels.empty() ? Absent("fraction", 0, "there are no examples")
                                          : SdEstimate(AccuracyOfRows(answers, labels), "fraction");
  std::vector<ClassNoise> noise;
  for (int32_t label = 0; label < answers.classes(); ++label) {
    const std::vector<int64_t>& of_class = examples[static_cast<size_t>(label)];
    if (of_class.empty()) {
      noise.push_back(WithoutExamples(label));
      continue;
    }
    const PredictionMatrix part = answers.SelectExamples(of_class);
    const std::vector<double> accuracy =
        AccuracyOfRows(part, std::vector<int32_t>(of_class.size(), label));
    ClassNoise& row = noise.emplace_back();
    row.label = label;
    row.examples = static_cast<int64_t>(of_class.size());
    row.accuracy = MeanEstimate(accuracy, "fraction");
    CutInterval(row.accuracy, 0, 1);
    row.accuracy_sd = SdEstimate(accuracy, "fraction");
    row.range = RangeEstimate(accuracy, "fraction");
    row.ratio = Ratio(row.accuracy_sd, overall);
    row.churn = MeanChurn(part);
  }
  return noise;
}

ClassChurns ChurnsByClass(const PredictionMatrix& answers, std::span<const int32_t> labels) {
  ClassChurns churns;
  if (answers.members() < 2) return churns;
  const auto n = static_cast<size_t>(answers.members());
  if (n >= 3) churns.without.resize(n);
  const std::vector<std::vector<int64_t>> examples = ExamplesByClass(answers, labels);
  for (size_t label = 0; label < examples.size(); ++label) {
    if (examples[label].empty()) continue;
    const PairSums sums = ChurnSums(answers.SelectExamples(examples[label]));
    const double pairs = static_cast<double>(n * (n - 1)) / 2;
    churns.labels.push_back(static_cast<int32_t>(label));
    churns.all.push_back(sums.total / pairs);
    for (size_t m = 0; m < churns.without.size(); ++m) {
      const double left = pairs - static_cast<double>(n - 1);
      churns.without[m].push_back((sums.total - sums.of_member[m]) / left);
    }
  }
  return churns;
}

}  // namespace noisefloor::analysis
