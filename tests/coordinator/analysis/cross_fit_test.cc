#include "coordinator/analysis/cross_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

constexpr int64_t kExamples = 30;

// Members of these replicates in some cells, of which some are missing.
CellMembers RandomMembers(Draws& draws, const std::vector<uint32_t>& replicates, uint32_t cells,
                          int64_t examples = kExamples, int32_t classes = 4) {
  CellMembers members{PredictionMatrix(examples, classes), {}, {}};
  for (uint32_t cell = 0; cell < cells; ++cell) {
    for (const uint32_t replicate : replicates) {
      if (cell > 0 && draws.Uniform() < 0.2) continue;
      const PredictionMatrix one = RandomAnswers(draws, 1, examples, classes, true);
      EXPECT_TRUE(members.answers.AddAnswers(one.Row(0)).ok());
      members.cells.push_back(cell);
      members.replicates.push_back(replicate);
    }
  }
  return members;
}

CellMembers CellsTogether(const CellMembers& one, const CellMembers& other) {
  CellMembers both = one;
  for (size_t m = 0; m < other.cells.size(); ++m) {
    EXPECT_TRUE(both.answers.AddAnswers(other.answers.Row(static_cast<int64_t>(m))).ok());
    both.cells.push_back(other.cells[m]);
    both.replicates.push_back(other.replicates[m]);
  }
  return both;
}

CrossFitted OfHalves(const CellMembers& one, const CellMembers& other,
                     std::span<const int32_t> labels, int64_t count) {
  std::vector<bool> marked(one.cells.size(), true);
  marked.resize(one.cells.size() + other.cells.size(), false);
  const CellMembers both = CellsTogether(one, other);
  return CrossFit(both, HalvesOf(both, marked), labels, count);
}

using Replicates = std::set<uint32_t>;

// What members of some replicates say of some examples, written out.
struct SlowCrossFit {
  double disagreement = 0;  // nan without a pair.
  double accuracy = 0;      // Mean over replicates of their members.
};

SlowCrossFit SlowOf(const CellMembers& all, const Replicates& of,
                    const std::vector<int64_t>& examples, const std::vector<int32_t>& labels) {
  double differing = 0;
  double pairs = 0;
  std::map<uint32_t, std::pair<double, double>> right;
  for (const int64_t example : examples) {
    const auto x = static_cast<size_t>(example);
    for (size_t i = 0; i < all.cells.size(); ++i) {
      if (!of.contains(all.replicates[i])) continue;
      const int16_t answer = all.answers.Row(static_cast<int64_t>(i))[x];
      right[all.replicates[i]].first += answer == labels[x];
      ++right[all.replicates[i]].second;
      for (size_t j = 0; j < i; ++j) {
        if (!of.contains(all.replicates[j]) || all.cells[i] != all.cells[j]) continue;
        differing += Differ(answer, all.answers.Row(static_cast<int64_t>(j))[x]);
        ++pairs;
      }
    }
  }
  SlowCrossFit slow = {differing / pairs, 0};
  for (const auto& [replicate, of_it] : right) {
    slow.accuracy += of_it.first / of_it.second / static_cast<double>(right.size());
  }
  return slow;
}

std::vector<int64_t> SlowChoice(const CellMembers& all, const Replicates& of,
                                const std::vector<int32_t>& labels, size_t count) {
  std::vector<std::pair<double, int64_t>> scored;
  for (int64_t x = 0; x < std::ssize(labels); ++x) {
    const double disagreement = SlowOf(all, of, {x}, labels).disagreement;
    if (disagreement > 0) scored.emplace_back(-disagreement, x);
  }
  std::sort(scored.begin(), scored.end());
  std::vector<int64_t> chosen;
  for (size_t k = 0; k < std::min(count, scored.size()); ++k) chosen.push_back(scored[k].second);
  return chosen;
}

Replicates WithoutReplicate(Replicates some, uint32_t replicate) {
  some.erase(replicate);
  return some;
}

std::vector<int32_t> Labels() {
  std::vector<int32_t> labels;
  for (int32_t x = 0; x < kExamples; ++x) labels.push_back(x % 4);
  return labels;
}

void ExpectInterval(const Estimate& estimate, double value, double variance, double degrees) {
  const double half = TQuantile(degrees, 0.975) * std::sqrt(variance);
  EXPECT_NEAR(*estimate.value, value, 1e-12);
  ASSERT_TRUE(estimate.low.has_value());
  EXPECT_NEAR(*estimate.low, std::max(0.0, value - half), 1e-10);
  EXPECT_NEAR(*estimate.high, std::min(1.0, value + half), 1e-10);
}

// Of six replicates or more: each half measures what the other chose.
void ExpectHalves(const CellMembers& one, const CellMembers& other) {
  const CellMembers all = CellsTogether(one, other);
  const std::array<Replicates, 2> halves = {
      Replicates(one.replicates.begin(), one.replicates.end()),
      Replicates(other.replicates.begin(), other.replicates.end())};
  const CrossFitted fast = OfHalves(one, other, Labels(), 7);
  for (double SlowCrossFit::*figure : {&SlowCrossFit::disagreement, &SlowCrossFit::accuracy}) {
    double value = 0;
    double variance = 0;
    double squares = 0;
    for (size_t h = 0; h < 2; ++h) {
      const std::vector<int64_t> chosen = SlowChoice(all, halves[1 - h], Labels(), 7);
      const double whole = SlowOf(all, halves[h], chosen, Labels()).*figure;
      const auto n = static_cast<double>(halves[h].size());
      double of_half = 0;
      for (const uint32_t left_out : halves[h]) {
        const SlowCrossFit left =
            SlowOf(all, WithoutReplicate(halves[h], left_out), chosen, Labels());
        of_half += std::pow(left.*figure - whole, 2) * (n - 1) / n;
      }
      value += whole / 2;
      variance += of_half / 4;
      squares += of_half * of_half / 16 / (n - 1);
    }
    const Estimate& told =
        figure == &SlowCrossFit::disagreement ? fast.disagreement : fast.accuracy;
    EXPECT_EQ(told.n, static_cast<int64_t>(halves[0].size() + halves[1].size()));
    ExpectInterval(told, value, variance, variance * variance / squares);
  }
}

// Of fewer: each two measure what the others choose; a value for each pair of replicates.
void ExpectTwos(const CellMembers& one, const CellMembers& other) {
  const CellMembers all = CellsTogether(one, other);
  const Replicates replicates(all.replicates.begin(), all.replicates.end());
  const CrossFitted fast = OfHalves(one, other, Labels(), 7);
  const auto n = static_cast<double>(replicates.size());
  std::map<Replicates, SlowCrossFit> of_two;
  for (const uint32_t a : replicates) {
    for (const uint32_t b : replicates) {
      if (a >= b) continue;
      const std::vector<int64_t> chosen =
          SlowChoice(all, WithoutReplicate(WithoutReplicate(replicates, a), b), Labels(), 7);
      of_two[{a, b}] = SlowOf(all, {a, b}, chosen, Labels());
    }
  }
  const auto mean = [&](double SlowCrossFit::*figure, std::optional<uint32_t> without) {
    double sum = 0;
    double count = 0;
    for (const auto& [two, slow] : of_two) {
      if (without && two.contains(*without)) continue;
      sum += slow.*figure;
      ++count;
    }
    return sum / count;
  };
  for (double SlowCrossFit::*figure : {&SlowCrossFit::disagreement, &SlowCrossFit::accuracy}) {
    const double value = mean(figure, std::nullopt);
    double variance = 0;
    for (const uint32_t left_out : replicates) {
      variance += std::pow(mean(figure, left_out) - value, 2) * (n - 1) / n;
    }
    const Estimate& told =
        figure == &SlowCrossFit::disagreement ? fast.disagreement : fast.accuracy;
    EXPECT_EQ(told.n, static_cast<int64_t>(replicates.size()));
    ExpectInterval(told, value, variance, n - 1);
  }
}

TEST(CrossFitTest, HalvesEqualTheirSlowTwin) {
  Draws draws(311);
  for (int round = 0; round < 20; ++round) {
    const CellMembers one = RandomMembers(draws, {0, 2, 4, 6}, 3);
    ExpectHalves(one, RandomMembers(draws, {1, 3, 5}, 3));
    ExpectHalves(one, RandomMembers(draws, {1, 3, 5, 7, 9, 11}, 1));
  }
}

TEST(CrossFitTest, SixReplicatesMeasureByHalvesAndFewerByTwos) {
  Draws draws(312);
  for (int round = 0; round < 20; ++round) {
    const CellMembers one = RandomMembers(draws, {0, 2, 4}, 3);
    ExpectHalves(one, RandomMembers(draws, {1, 3, 5}, 3));
    ExpectTwos(one, RandomMembers(draws, {1, 3}, 3));
    ExpectTwos(one, RandomMembers(draws, {1}, 3));
  }
}

TEST(CrossFitTest, ATallyIsWhatPlainLoopsCount) {
  Draws draws(314);
  const CellMembers members = RandomMembers(draws, {0, 1, 2, 3, 4, 5, 6}, 4, 900, 10);
  Rows rows;
  for (size_t m = 0; m < members.cells.size(); ++m) {
    if (members.replicates[m] != 3) rows.push_back(m);
  }

  Tally tally = TallyOf(members, rows);

  const std::vector<int32_t> labels(900, 0);
  int64_t pairs = 0;
  for (const size_t i : rows) {
    for (const size_t j : rows) pairs += i < j && members.cells[i] == members.cells[j];
  }
  EXPECT_EQ(tally.pairs, pairs);
  for (int64_t x = 0; x < 900; ++x) {
    const double share = SlowOf(members, {0, 1, 2, 4, 5, 6}, {x}, labels).disagreement;
    EXPECT_NEAR(static_cast<double>(tally.differing[static_cast<size_t>(x)]),
                share * static_cast<double>(pairs), 1e-9);
  }
  const Tally once = tally;
  tally.Add(once);
  EXPECT_EQ(tally.pairs, 2 * pairs);
  EXPECT_EQ(tally.differing[5], 2 * once.differing[5]);
}

TEST(CrossFitTest, MostDifferingFirstTiesByTheLowerNumberAndNoneThatAllAgreeOn) {
  const Tally tally = {{0, 2, 5, 2, 0, 7}, 9};

  EXPECT_EQ(MostDiffering(tally, 3), (std::vector<int64_t>{5, 2, 1}));
  EXPECT_EQ(MostDiffering(tally, 10), (std::vector<int64_t>{5, 2, 1, 3}));
  EXPECT_TRUE(MostDiffering(tally, 0).empty());
}

// Every example is a coin of each member, so that what is chosen is chance: half of the pairs
// disagree on it, though those that chose it do on far more.
TEST(CrossFitTest, ChoosingDoesNotBiasWhatIsMeasured) {
  Draws draws(9);
  for (const uint32_t replicates : {4u, 5u, 12u}) {
    std::vector<CellMembers> halves(2, CellMembers{PredictionMatrix(4000, 2), {}, {}});
    for (uint32_t r = 0; r < replicates; ++r) {
      std::vector<int16_t> row;
      for (int x = 0; x < 4000; ++x) row.push_back(static_cast<int16_t>(draws.Below(2)));
      CellMembers& half = halves[r % 2];
      ASSERT_TRUE(half.answers.AddAnswers(row).ok());
      half.cells.push_back(0);
      half.replicates.push_back(r);
    }
    const CrossFitted found = OfHalves(halves[0], halves[1], std::vector<int32_t>(4000, 0), 1000);
    EXPECT_NEAR(*found.disagreement.value, 0.5, 0.03) << replicates;
    EXPECT_NEAR(*found.accuracy.value, 0.5, 0.03) << replicates;
  }
}

TEST(CrossFitTest, ThreeReplicatesAreTooFew) {
  Draws draws(315);
  const std::vector<int32_t> labels(kExamples, 1);

  const CrossFitted found =
      OfHalves(RandomMembers(draws, {0, 2}, 2), RandomMembers(draws, {1}, 2), labels, 5);

  EXPECT_FALSE(found.disagreement.value.has_value());
  EXPECT_EQ(found.disagreement.note, "needs four replicates, there are 3");
  EXPECT_EQ(found.accuracy.note, "needs four replicates, there are 3");
}

TEST(CrossFitTest, WhereAllAgreeNothingIsChosen) {
  const std::vector<int32_t> labels = {0, 1};
  const auto agreeing = [](std::vector<uint32_t> replicates) {
    const size_t n = replicates.size();
    return CellMembers{AnswersFrom(std::vector<std::vector<int16_t>>(n, {0, 1}), 2),
                       std::vector<uint32_t>(n, 0), std::move(replicates)};
  };

  const CrossFitted of_six = OfHalves(agreeing({0, 2, 4}), agreeing({1, 3, 5}), labels, 5);
  const CrossFitted of_four = OfHalves(agreeing({0, 2}), agreeing({1, 3}), labels, 5);

  EXPECT_FALSE(of_six.disagreement.value.has_value());
  EXPECT_EQ(of_six.disagreement.note, "a half chooses nothing, or has no pair to measure on");
  EXPECT_FALSE(of_six.accuracy.value.has_value());
  EXPECT_FALSE(of_four.disagreement.value.has_value());
  EXPECT_EQ(of_four.disagreement.note, "nothing is chosen that others could measure");
}

// Replicate 1 is in every pair of its half, so that nothing is left to measure on without it.
TEST(CrossFitTest, NoIntervalWhereOneReplicateIsInAllPairs) {
  const CellMembers one{AnswersFrom({{0}, {1}, {0}, {1}}, 2), {0, 0, 0, 0}, {0, 2, 4, 6}};
  const CellMembers other{AnswersFrom({{0}, {1}, {0}, {0}}, 2), {0, 0, 1, 1}, {1, 3, 1, 5}};

  const CrossFitted found = OfHalves(one, other, std::vector<int32_t>{0}, 5);

  EXPECT_NEAR(*found.disagreement.value, (4.0 / 6 + 1.0 / 2) / 2, 1e-12);
  EXPECT_FALSE(found.disagreement.low.has_value());
  EXPECT_EQ(found.disagreement.note, "without one of them no pair is left: no interval");
  EXPECT_TRUE(found.accuracy.low.has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
