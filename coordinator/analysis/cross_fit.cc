#include "coordinator/analysis/cross_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"

#include "common/base/check.h"
#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/contrast.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/pairs.h"
#include "coordinator/analysis/spread.h"

namespace noisefloor::analysis {
namespace {

constexpr std::ptrdiff_t kFewReplicates = 6;  // Below, halves are too small to choose.

std::map<uint32_t, Rows> RowsBy(const std::vector<uint32_t>& key, const Rows& rows) {
  std::map<uint32_t, Rows> by_key;
  for (const size_t m : rows) by_key[key[m]].push_back(m);
  return by_key;
}

// What those who measure say of what was chosen.
struct Measured {
  std::optional<Jackknifed> disagreement;  // Over replicates; absent without a pair.
  Jackknifed accuracy;
};

// Absent where nothing is chosen or nobody measures.
std::optional<Measured> Measure(const CellMembers& members, const Tally& choosing,
                                const Rows& measuring, std::span<const int32_t> labels,
                                int64_t count) {
  const std::vector<int64_t> chosen = MostDiffering(choosing, count);
  if (chosen.empty() || measuring.empty()) return std::nullopt;
  std::vector<int32_t> right;
  for (const int64_t x : chosen) right.push_back(labels[static_cast<size_t>(x)]);
  const PredictionMatrix said = members.answers.SelectExamples(chosen);
  Measured measured;
  measured.accuracy = MeanWithoutEach(AccuracyOfReplicates(members, said, measuring, right));
  const ReplicateSums sums = PairsOfReplicates(members, said, measuring);
  if (sums.pairs.total > 0) measured.disagreement = PairMeanWithoutEach(sums.churn, sums.pairs);
  return measured;
}

// The mean of a figure of two halves that measure for each other.
Estimate MeanOfHalves(const Jackknifed& a, const Jackknifed& b) {
  Estimate estimate;
  estimate.n = a.n + b.n;
  estimate.unit = "fraction";
  estimate.value = (a.all + b.all) / 2;
  estimate.method =
      "halves choose for each other, mean of both; jackknife over the measuring "
      "replicates, Welch's degrees of freedom";
  if (a.without.empty() || b.without.empty()) {
    estimate.note = "without one of them no pair is left: no interval";
    return estimate;
  }
  const ErrorOfDifference of_sum = AddErrors(JackknifeVariance(a), a.n, JackknifeVariance(b), b.n);
  const double error = std::sqrt(of_sum.variance) / 2;
  if (!(error > kRounding)) {
    estimate.note = "leaving out any one replicate changes nothing: no interval";
    return estimate;
  }
  const double half = TQuantile(of_sum.degrees, 1 - kLevel / 2) * error;
  estimate.low = *estimate.value - half;
  estimate.high = *estimate.value + half;
  CutInterval(estimate, 0, 1);
  return estimate;
}

CrossFitted ByHalves(const CellMembers& members, const std::array<Half, 2>& halves,
                     std::span<const int32_t> labels, int64_t count) {
  const std::optional<Measured> on_b =
      Measure(members, halves[0].tally, halves[1].rows, labels, count);
  const std::optional<Measured> on_a =
      Measure(members, halves[1].tally, halves[0].rows, labels, count);
  if (!on_a || !on_b || !on_a->disagreement || !on_b->disagreement) {
    const std::string why = "a half chooses nothing, or has no pair to measure on";
    const auto n = static_cast<int64_t>(on_a ? on_a->accuracy.n : 0) +
                   static_cast<int64_t>(on_b ? on_b->accuracy.n : 0);
    return {Absent("fraction", n, why), Absent("fraction", n, why)};
  }
  return {MeanOfHalves(*on_a->disagreement, *on_b->disagreement),
          MeanOfHalves(on_a->accuracy, on_b->accuracy)};
}

// Each two replicates measure what the others choose: a value for each pair of them.
CrossFitted ByTwos(const CellMembers& members, const std::vector<Rows>& replicates,
                   std::span<const int32_t> labels, int64_t count) {
  const size_t n = replicates.size();
  const auto rows_of = [&](size_t r, size_t s) {
    Rows rows = replicates[r];
    rows.insert(rows.end(), replicates[s].begin(), replicates[s].end());
    return rows;
  };
  std::map<std::pair<size_t, size_t>, Tally> tallies;  // Of pairs, the lower place first.
  for (size_t s = 0; s < n; ++s) {
    for (size_t r = 0; r < s; ++r) tallies[{r, s}] = TallyOf(members, rows_of(r, s));
  }
  const std::vector<double> none(n, 0.0);
  PairSums disagreement = {0, none};
  PairSums accuracy = disagreement;
  PairSums counts = disagreement;
  const auto add = [](double value, size_t r, size_t s, PairSums& sums) {
    sums.total += value;
    sums.of_member[r] += value;
    sums.of_member[s] += value;
  };
  for (const auto& [pair, tally] : tallies) {
    const auto [r, s] = pair;
    Tally others = {std::vector<int64_t>(labels.size(), 0), 0};
    for (const auto& [other, of_other] : tallies) {
      const bool apart =
          other.first != r && other.first != s && other.second != r && other.second != s;
      if (apart) others.Add(of_other);
    }
    const auto measured = Measure(members, others, rows_of(r, s), labels, count);
    if (!measured || !measured->disagreement) continue;
    add(measured->disagreement->all, r, s, disagreement);
    add(measured->accuracy.all, r, s, accuracy);
    add(1, r, s, counts);
  }
  CrossFitted found = {PairMean(disagreement, counts, "fraction", {0, 1}),
                       PairMean(accuracy, counts, "fraction", {0, 1})};
  for (Estimate* estimate : {&found.disagreement, &found.accuracy}) {
    estimate->n = static_cast<int64_t>(n);
    estimate->detectable.reset();
    estimate->detectable_kind.clear();
    if (estimate->value) {
      estimate->method =
          "each two replicates measure what the others choose, mean over all two; "
          "jackknife over the measuring replicates";
    } else {
      estimate->note = "nothing is chosen that others could measure";
    }
  }
  return found;
}

}  // namespace

ReplicateSums PairsOfReplicates(const CellMembers& members, const PredictionMatrix& said,
                                const Rows& rows) {
  struct OfReplicate {
    double churn = 0;
    double pairs = 0;
  };
  std::map<uint32_t, OfReplicate> replicates;
  ReplicateSums sums;
  for (const auto& [cell, of_cell] : RowsBy(members.cells, rows)) {
    if (of_cell.size() < 2) continue;
    const std::vector<int64_t> selected(of_cell.begin(), of_cell.end());
    const PairSums churn = ChurnSums(said.Select(selected));
    const auto others = static_cast<double>(of_cell.size() - 1);
    sums.churn.total += churn.total;
    sums.pairs.total += others * static_cast<double>(of_cell.size()) / 2;
    for (size_t i = 0; i < of_cell.size(); ++i) {
      OfReplicate& of = replicates[members.replicates[of_cell[i]]];
      of.churn += churn.of_member[i];
      of.pairs += others;
    }
  }
  for (const auto& [number, of] : replicates) {
    sums.churn.of_member.push_back(of.churn);
    sums.pairs.of_member.push_back(of.pairs);
  }
  return sums;
}

std::vector<double> AccuracyOfReplicates(const CellMembers& members, const PredictionMatrix& said,
                                         const Rows& rows, std::span<const int32_t> labels) {
  std::vector<double> means;
  for (const auto& [replicate, of_replicate] : RowsBy(members.replicates, rows)) {
    std::vector<double> accuracy;
    for (const size_t m : of_replicate) {
      accuracy.push_back(Accuracy(said.Row(static_cast<int64_t>(m)), labels));
    }
    means.push_back(MeanOf(accuracy));
  }
  return means;
}

void Tally::Add(const Tally& other) {
  NF_CHECK(differing.size() == other.differing.size());
  for (size_t x = 0; x < differing.size(); ++x) differing[x] += other.differing[x];
  pairs += other.pairs;
}

Tally TallyOf(const CellMembers& members, const Rows& rows) {
  NF_CHECK(members.cells.size() == static_cast<size_t>(members.answers.members()));
  NF_CHECK(members.replicates.size() == members.cells.size());
  Tally tally = {std::vector<int64_t>(static_cast<size_t>(members.answers.examples()), 0), 0};
  for (const auto& [cell, of_cell] : RowsBy(members.cells, rows)) {
    if (of_cell.size() < 2) continue;
    const std::vector<int64_t> selected(of_cell.begin(), of_cell.end());
    const std::vector<int64_t> differing = PairsThatDiffer(members.answers.Select(selected));
    for (size_t x = 0; x < differing.size(); ++x) tally.differing[x] += differing[x];
    tally.pairs += std::ssize(of_cell) * (std::ssize(of_cell) - 1) / 2;
  }
  return tally;
}

std::vector<int64_t> MostDiffering(const Tally& tally, int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> scored;
  for (size_t x = 0; x < tally.differing.size(); ++x) {
    if (tally.differing[x] > 0) scored.emplace_back(-tally.differing[x], static_cast<int64_t>(x));
  }
  const auto most = std::min(std::ssize(scored), static_cast<std::ptrdiff_t>(count));
  std::partial_sort(scored.begin(), scored.begin() + most, scored.end());
  std::vector<int64_t> examples;
  for (auto it = scored.begin(); it != scored.begin() + most; ++it) examples.push_back(it->second);
  return examples;
}

std::array<Half, 2> HalvesOf(const CellMembers& members, const std::vector<bool>& marked) {
  NF_CHECK(marked.size() == members.cells.size());
  std::array<Half, 2> halves;
  for (size_t m = 0; m < marked.size(); ++m) halves[marked[m] ? 0 : 1].rows.push_back(m);
  for (Half& half : halves) half.tally = TallyOf(members, half.rows);
  return halves;
}

CrossFitted CrossFit(const CellMembers& members, const std::array<Half, 2>& halves,
                     std::span<const int32_t> labels, int64_t count) {
  NF_CHECK(labels.size() == static_cast<size_t>(members.answers.examples()));
  std::vector<Rows> replicates;
  for (const Half& half : halves) {
    for (const auto& [number, rows] : RowsBy(members.replicates, half.rows)) {
      replicates.push_back(rows);
    }
  }
  const auto n = std::ssize(replicates);
  if (n < 4) {
    const Estimate absent =
        Absent("fraction", n, fmt::format("needs four replicates, there are {}", n));
    return {absent, absent};
  }
  return n < kFewReplicates ? ByTwos(members, replicates, labels, count)
                            : ByHalves(members, halves, labels, count);
}

}  // namespace noisefloor::analysis
