#include "coordinator/analysis/divergent.h"

#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "common/base/check.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

// Share of the pairs within cells that disagree. Pairs of replicates take the place of pairs of
// members: each has a value for every cell that holds both.
Estimate DisagreementOf(const ReplicateSums& sums) {
  if (sums.pairs.total == 0) return Absent("fraction", 0, "no cohort has two measuring members");
  Estimate estimate = PairMean(sums.churn, sums.pairs, "fraction", {0, 1});
  estimate.method = "share of pairs within a cohort; jackknife leaving out one replicate";
  const std::string n = std::to_string(estimate.n) + " replicates: no interval";
  if (estimate.n == 2) estimate.note = n;
  if (*estimate.value == 0) estimate.note = "no difference seen in " + n;
  return estimate;
}

// Members of one replicate share seeds.
Estimate AccuracyOf(const std::vector<double>& replicates) {
  if (replicates.empty()) return Absent("fraction", 0, "the measuring half has no member");
  Estimate estimate = MeanEstimate(replicates, "fraction");
  estimate.method = "mean over replicates of their members; Student's t over replicates";
  CutInterval(estimate, 0, 1);
  return estimate;
}

// Every example that members disagree on as much as on the last of the most differing, or more.
std::vector<int64_t> WithEquals(const Tally& tally, int64_t count) {
  const std::vector<int64_t> most = MostDiffering(tally, count);
  std::vector<int64_t> examples;
  if (most.empty()) return examples;
  const int64_t least = tally.differing[static_cast<size_t>(most.back())];
  for (size_t x = 0; x < tally.differing.size(); ++x) {
    if (tally.differing[x] >= least) examples.push_back(static_cast<int64_t>(x));
  }
  return examples;
}

}  // namespace

DivergentSet FindDivergent(const CellMembers& members, const std::vector<bool>& selecting,
                           std::span<const int32_t> labels, int64_t count) {
  DivergentSet set;
  const std::array<Half, 2> halves = HalvesOf(members, selecting);
  const Tally& tally = halves[0].tally;
  const Rows& measuring = halves[1].rows;
  const std::vector<int64_t> chosen = MostDiffering(tally, count);
  const PredictionMatrix shown = members.answers.SelectExamples(chosen);
  for (size_t k = 0; k < chosen.size(); ++k) {
    const auto at = static_cast<size_t>(chosen[k]);
    Divergent& row = set.examples.emplace_back();
    row.example = chosen[k];
    row.selected_by = static_cast<double>(tally.differing[at]) / static_cast<double>(tally.pairs);
    const PredictionMatrix said = shown.SelectExamples(std::array{static_cast<int64_t>(k)});
    row.disagreement = DisagreementOf(PairsOfReplicates(members, said, measuring));
    row.accuracy =
        AccuracyOf(AccuracyOfReplicates(members, said, measuring, std::array{labels[at]}));
  }
  set.subset = CrossFit(members, halves, labels, count);
  Rows all(members.cells.size());
  std::iota(all.begin(), all.end(), size_t{0});
  set.by_all = WithEquals(TallyOf(members, all), count);
  return set;
}

}  // namespace noisefloor::analysis
