#include "coordinator/analysis/divergent.h"

#include <algorithm>
#include <string>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

Estimate Share(int64_t hits, int64_t n, const std::string& method) {
  Estimate estimate;
  estimate.value = static_cast<double>(hits) / static_cast<double>(n);
  estimate.n = n;
  estimate.unit = "fraction";
  estimate.method = method;
  const std::optional<Interval> interval = WilsonInterval(hits, n);
  estimate.low = interval->low;
  estimate.high = interval->high;
  return estimate;
}

Estimate AccuracyOnExample(const PredictionMatrix& answers, size_t example, int32_t label) {
  if (answers.members() < 1) return Absent("fraction", 0, "the measuring half has no member");
  int64_t right = 0;
  for (int64_t m = 0; m < answers.members(); ++m) right += answers.Row(m)[example] == label;
  return Share(right, answers.members(), "share of the measuring members; Wilson");
}

// Selected example numbers with their scores.
std::vector<std::pair<double, int64_t>> Select(const PredictionMatrix& selecting, int64_t count) {
  std::vector<std::pair<double, int64_t>> scored;
  const std::vector<double> scores = DisagreementByExample(selecting);
  for (size_t x = 0; x < scores.size(); ++x) {
    if (scores[x] > 0) scored.emplace_back(-scores[x], static_cast<int64_t>(x));
  }
  std::sort(scored.begin(), scored.end());
  if (static_cast<int64_t>(scored.size()) > count) scored.resize(static_cast<size_t>(count));
  for (auto& [score, example] : scored) score = -score;
  return scored;
}

}  // namespace

DivergentSet FindDivergent(const PredictionMatrix& selecting, const PredictionMatrix& measuring,
                           std::span<const int32_t> labels, int64_t count) {
  NF_CHECK(selecting.examples() == measuring.examples());
  NF_CHECK(labels.size() == static_cast<size_t>(selecting.examples()));
  DivergentSet set;
  set.subset_disagreement = Absent("fraction", 0, "no example was selected");
  set.subset_accuracy = set.subset_disagreement;
  if (selecting.members() < 2) return set;
  std::vector<int64_t> chosen;
  std::vector<int32_t> chosen_labels;
  for (const auto& [score, example] : Select(selecting, count)) {
    const size_t at = static_cast<size_t>(example);
    Divergent& row = set.examples.emplace_back();
    row.example = example;
    row.selected_by = score;
    row.accuracy = AccuracyOnExample(measuring, at, labels[at]);
    row.disagreement = MeanChurn(measuring.SelectExamples(std::vector<int64_t>{example}));
    chosen.push_back(example);
    chosen_labels.push_back(labels[at]);
  }
  if (chosen.empty()) return set;
  const PredictionMatrix part = measuring.SelectExamples(chosen);
  set.subset_disagreement = MeanChurn(part);
  std::vector<double> accuracy;
  for (int64_t m = 0; m < part.members(); ++m) {
    accuracy.push_back(Accuracy(part.Row(m), chosen_labels));
  }
  set.subset_accuracy = MeanEstimate(accuracy, "fraction");
  CutInterval(set.subset_accuracy, 0, 1);
  return set;
}

}  // namespace noisefloor::analysis
