#include "coordinator/analysis/divergent.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

// The members of one cell in one half; two or more, so that there is a pair.
struct Cell {
  PredictionMatrix answers;
  std::vector<uint32_t> replicates;

  double Pairs() const {
    const double n = static_cast<double>(answers.members());
    return n * (n - 1) / 2;
  }
};

void CheckHalf(const Half& half, std::span<const int32_t> labels) {
  NF_CHECK(labels.size() == static_cast<size_t>(half.answers.examples()));
  NF_CHECK(half.cells.size() == static_cast<size_t>(half.answers.members()));
  NF_CHECK(half.replicates.size() == half.cells.size());
}

std::vector<Cell> CellsWithPairs(const Half& half) {
  std::map<uint32_t, std::vector<int64_t>> rows;
  for (size_t m = 0; m < half.cells.size(); ++m) {
    rows[half.cells[m]].push_back(static_cast<int64_t>(m));
  }
  std::vector<Cell> cells;
  for (const auto& [number, of_cell] : rows) {
    if (of_cell.size() < 2) continue;
    Cell cell{half.answers.Select(of_cell), {}};
    for (const int64_t m : of_cell) {
      cell.replicates.push_back(half.replicates[static_cast<size_t>(m)]);
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

// Share of the pairs within cells that disagree. Pairs of replicates take the place of pairs of
// members: each has a value for every cell that holds both.
Estimate Disagreement(const std::vector<Cell>& cells, std::span<const int64_t> examples) {
  if (cells.empty()) return Absent("fraction", 0, "no cohort has two measuring members");
  struct OfReplicate {
    double differing = 0;
    double pairs = 0;
  };
  std::map<uint32_t, OfReplicate> replicates;
  PairSums differing;
  PairSums pairs;
  for (const Cell& cell : cells) {
    const PairSums of_cell = ChurnSums(cell.answers.SelectExamples(examples));
    differing.total += of_cell.total;
    pairs.total += cell.Pairs();
    for (size_t m = 0; m < cell.replicates.size(); ++m) {
      OfReplicate& of_replicate = replicates[cell.replicates[m]];
      of_replicate.differing += of_cell.of_member[m];
      of_replicate.pairs += static_cast<double>(cell.replicates.size() - 1);
    }
  }
  for (const auto& [number, of_replicate] : replicates) {
    differing.of_member.push_back(of_replicate.differing);
    pairs.of_member.push_back(of_replicate.pairs);
  }
  Estimate estimate = PairMean(differing, pairs, "fraction", {0, 1});
  if (!estimate.value) return estimate;
  estimate.method = "share of pairs within a cohort; jackknife leaving out one replicate";
  const std::string n = std::to_string(estimate.n) + " replicates: no interval";
  if (estimate.n == 2) estimate.note = n;
  if (*estimate.value == 0) estimate.note = "no difference seen in " + n;
  return estimate;
}

// Mean over replicates, each the mean over its members: those share seeds.
Estimate AccuracyOver(const Half& half, std::span<const int64_t> examples,
                      std::span<const int32_t> labels) {
  if (half.cells.empty()) return Absent("fraction", 0, "the measuring half has no member");
  std::vector<int32_t> right;
  for (const int64_t example : examples) right.push_back(labels[static_cast<size_t>(example)]);
  const PredictionMatrix part = half.answers.SelectExamples(examples);
  std::map<uint32_t, std::vector<double>> replicates;
  for (size_t m = 0; m < half.replicates.size(); ++m) {
    replicates[half.replicates[m]].push_back(Accuracy(part.Row(static_cast<int64_t>(m)), right));
  }
  std::vector<double> means;
  for (const auto& [number, accuracies] : replicates) means.push_back(MeanOf(accuracies));
  Estimate estimate = MeanEstimate(means, "fraction");
  estimate.method = "mean over replicates of their members; Student's t over replicates";
  CutInterval(estimate, 0, 1);
  return estimate;
}

// Selected example numbers with their scores.
std::vector<std::pair<double, int64_t>> Select(const std::vector<Cell>& cells, size_t examples,
                                               int64_t count) {
  std::vector<int64_t> differing(examples, 0);
  double pairs = 0;
  for (const Cell& cell : cells) {
    const std::vector<double> shares = DisagreementByExample(cell.answers);
    pairs += cell.Pairs();
    // Whole pairs, so that equal counts are equal scores.
    for (size_t x = 0; x < examples; ++x) differing[x] += std::llround(shares[x] * cell.Pairs());
  }
  std::vector<std::pair<int64_t, int64_t>> scored;
  for (size_t x = 0; x < examples; ++x) {
    if (differing[x] > 0) scored.emplace_back(-differing[x], static_cast<int64_t>(x));
  }
  std::sort(scored.begin(), scored.end());
  if (static_cast<int64_t>(scored.size()) > count) scored.resize(static_cast<size_t>(count));
  std::vector<std::pair<double, int64_t>> selected;
  for (const auto& [score, example] : scored) {
    selected.emplace_back(static_cast<double>(-score) / pairs, example);
  }
  return selected;
}

}  // namespace

DivergentSet FindDivergent(const Half& selecting, const Half& measuring,
                           std::span<const int32_t> labels, int64_t count) {
  CheckHalf(selecting, labels);
  CheckHalf(measuring, labels);
  DivergentSet set;
  set.subset_disagreement = Absent("fraction", 0, "no example was selected");
  set.subset_accuracy = set.subset_disagreement;
  const std::vector<Cell> measured = CellsWithPairs(measuring);
  std::vector<int64_t> chosen;
  for (const auto& [score, example] : Select(CellsWithPairs(selecting), labels.size(), count)) {
    Divergent& row = set.examples.emplace_back();
    const std::vector<int64_t> alone = {example};
    row.example = example;
    row.selected_by = score;
    row.disagreement = Disagreement(measured, alone);
    row.accuracy = AccuracyOver(measuring, alone, labels);
    chosen.push_back(example);
  }
  if (chosen.empty()) return set;
  set.subset_disagreement = Disagreement(measured, chosen);
  set.subset_accuracy = AccuracyOver(measuring, chosen, labels);
  return set;
}

}  // namespace noisefloor::analysis
