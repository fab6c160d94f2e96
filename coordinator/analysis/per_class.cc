#include "coordinator/analysis/per_class.h"

#include <string>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/contrast.h"
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

// The examples of each group, in order.
std::vector<std::vector<int64_t>> ExamplesOf(const PredictionMatrix& answers,
                                             const Groups& groups) {
  NF_CHECK(groups.of_example.size() == static_cast<size_t>(answers.examples()));
  std::vector<std::vector<int64_t>> examples(static_cast<size_t>(groups.count));
  for (size_t x = 0; x < groups.of_example.size(); ++x) {
    const int32_t group = groups.of_example[x];
    if (group < 0 || group >= groups.count) continue;
    examples[static_cast<size_t>(group)].push_back(static_cast<int64_t>(x));
  }
  return examples;
}

// Calls each(group, its examples, the answers to them) for one group after the other. Answers are
// brought beside each other once: those of one of a thousand classes lie in as many lines of the
// cache.
template <typename Each>
void ForEachGroup(const PredictionMatrix& answers, const Groups& groups, const Each& each) {
  const std::vector<std::vector<int64_t>> examples = ExamplesOf(answers, groups);
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& of_group : examples) {
    all.insert(all.end(), of_group.begin(), of_group.end());
  }
  const PredictionMatrix sorted = answers.SelectExamples(all);
  int64_t first = 0;
  for (size_t group = 0; group < examples.size(); ++group) {
    const int64_t last = first + std::ssize(examples[group]);
    each(static_cast<int32_t>(group), examples[group], sorted.SelectRange(first, last));
    first = last;
  }
}

std::vector<int32_t> LabelsOf(std::span<const int32_t> labels,
                              const std::vector<int64_t>& examples) {
  std::vector<int32_t> of_part;
  for (const int64_t x : examples) of_part.push_back(labels[static_cast<size_t>(x)]);
  return of_part;
}

// Of the examples with this label the share that is answered otherwise.
Estimate ErrorRate(const PredictionMatrix& answers, std::span<const int32_t> labels,
                   const std::vector<int64_t>& examples, int32_t label) {
  std::vector<int64_t> with_label;
  for (const int64_t x : examples) {
    if (labels[static_cast<size_t>(x)] == label) with_label.push_back(x);
  }
  if (with_label.empty()) {
    return Absent("fraction", 0, label == 0 ? "no example is no" : "no example is yes");
  }
  const PredictionMatrix part = answers.SelectExamples(with_label);
  std::vector<double> rates;
  for (const double right : AccuracyOfRows(part, std::vector<int32_t>(with_label.size(), label))) {
    rates.push_back(1 - right);
  }
  Estimate rate = MeanEstimate(rates, "fraction");
  CutInterval(rate, 0, 1);
  return rate;
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
  return NoiseByGroup(answers, labels, {labels, answers.classes()});
}

std::vector<ClassNoise> NoiseByGroup(const PredictionMatrix& answers,
                                     std::span<const int32_t> labels, const Groups& groups) {
  NF_CHECK(labels.size() == static_cast<size_t>(answers.examples()));
  const Estimate overall = labels.empty() ? Absent("fraction", 0, "there are no examples")
                                          : SdEstimate(AccuracyOfRows(answers, labels), "fraction");
  std::vector<ClassNoise> noise;
  ForEachGroup(
      answers, groups,
      [&](int32_t group, const std::vector<int64_t>& of_group, const PredictionMatrix& part) {
        if (of_group.empty()) {
          noise.push_back(WithoutExamples(group));
          return;
        }
        const std::vector<double> accuracy = AccuracyOfRows(part, LabelsOf(labels, of_group));
        ClassNoise& row = noise.emplace_back();
        row.label = group;
        row.examples = std::ssize(of_group);
        row.accuracy = MeanEstimate(accuracy, "fraction");
        CutInterval(row.accuracy, 0, 1);
        row.accuracy_sd = SdEstimate(accuracy, "fraction");
        row.range = RangeEstimate(accuracy, "fraction");
        row.ratio = Ratio(row.accuracy_sd, overall);
        row.churn = MeanChurn(part);
      });
  return noise;
}

std::vector<ErrorRates> ErrorRatesByGroup(const PredictionMatrix& answers,
                                          std::span<const int32_t> labels, const Groups& groups) {
  NF_CHECK(labels.size() == static_cast<size_t>(answers.examples()));
  std::vector<ErrorRates> rates;
  for (const std::vector<int64_t>& of_group : ExamplesOf(answers, groups)) {
    rates.push_back(
        {ErrorRate(answers, labels, of_group, 0), ErrorRate(answers, labels, of_group, 1)});
  }
  return rates;
}

ClassChurns ChurnsByGroup(const PredictionMatrix& answers, const Groups& groups) {
  ClassChurns churns;
  if (answers.members() < 2) return churns;
  if (answers.members() >= 3) churns.without.resize(static_cast<size_t>(answers.members()));
  ForEachGroup(
      answers, groups,
      [&](int32_t group, const std::vector<int64_t>& of_group, const PredictionMatrix& part) {
        if (of_group.empty()) return;
        const Jackknifed churn = PairMeanWithoutEach(ChurnSums(part));
        churns.labels.push_back(group);
        churns.all.push_back(churn.all);
        for (size_t m = 0; m < churn.without.size(); ++m) {
          churns.without[m].push_back(churn.without[m]);
        }
      });
  return churns;
}

}  // namespace noisefloor::analysis
