#include "coordinator/analysis/divergent.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

// All rows in one cell, as replicates first, first + 2, ...
CellMembers OneCell(PredictionMatrix answers, uint32_t first = 0) {
  CellMembers half{std::move(answers), {}, {}};
  for (int64_t m = 0; m < half.answers.members(); ++m) {
    half.cells.push_back(0);
    half.replicates.push_back(first + 2 * static_cast<uint32_t>(m));
  }
  return half;
}

// Members of both, and which of them select.
std::pair<CellMembers, std::vector<bool>> Together(const CellMembers& selecting,
                                                   const CellMembers& measuring) {
  std::pair<CellMembers, std::vector<bool>> both = {selecting, {}};
  both.second.assign(selecting.cells.size(), true);
  for (size_t m = 0; m < measuring.cells.size(); ++m) {
    EXPECT_TRUE(both.first.answers.AddAnswers(measuring.answers.Row(static_cast<int64_t>(m))).ok());
    both.first.cells.push_back(measuring.cells[m]);
    both.first.replicates.push_back(measuring.replicates[m]);
    both.second.push_back(false);
  }
  return both;
}

DivergentSet Find(const CellMembers& selecting, const CellMembers& measuring,
                  std::span<const int32_t> labels, int64_t count) {
  const auto [members, selects] = Together(selecting, measuring);
  return FindDivergent(members, selects, labels, count);
}

TEST(DivergentTest, OneHalfSelectsAndTheOtherMeasures) {
  // The selecting half disagrees on examples 1 and 2; the measuring half on 2 only.
  const CellMembers selecting = OneCell(AnswersFrom({{0, 0, 0, 0}, {0, 1, 1, 0}}, 2));
  const CellMembers measuring = OneCell(AnswersFrom({{0, 0, 0, 0}, {0, 0, 1, 1}}, 2), 1);
  const std::vector<int32_t> labels = {0, 0, 0, 0};

  const DivergentSet set = Find(selecting, measuring, labels, 10);

  ASSERT_EQ(set.examples.size(), 2u);
  EXPECT_EQ(set.examples[0].example, 1);  // Ties by the lower number.
  EXPECT_DOUBLE_EQ(set.examples[0].selected_by, 1.0);
  EXPECT_DOUBLE_EQ(*set.examples[0].disagreement.value, 0.0);
  EXPECT_DOUBLE_EQ(*set.examples[0].accuracy.value, 1.0);
  EXPECT_EQ(set.examples[1].example, 2);
  EXPECT_DOUBLE_EQ(*set.examples[1].disagreement.value, 1.0);
  EXPECT_DOUBLE_EQ(*set.examples[1].accuracy.value, 0.5);
  const auto [all, selects] = Together(selecting, measuring);
  const CrossFitted twin = CrossFit(all, HalvesOf(all, selects), labels, 10);
  EXPECT_EQ(*set.subset.disagreement.value, *twin.disagreement.value);
  EXPECT_EQ(*set.subset.accuracy.value, *twin.accuracy.value);
  // All four: of six pairs example 1 has three that disagree, 2 has four, 3 has three.
  EXPECT_EQ(set.by_all, (std::vector<int64_t>{1, 2, 3}));
}

TEST(DivergentTest, NoMoreThanAskedForAndTheMostDivergentFirst) {
  const CellMembers half = OneCell(AnswersFrom({{0, 0, 0}, {0, 1, 1}, {0, 2, 1}, {0, 2, 1}}, 3));

  const DivergentSet set =
      Find(half, OneCell(AnswersFrom({{0, 0, 0}}, 3), 1), std::vector<int32_t>{0, 0, 0}, 1);

  ASSERT_EQ(set.examples.size(), 1u);
  EXPECT_EQ(set.examples[0].example, 1);
  EXPECT_DOUBLE_EQ(set.examples[0].selected_by, 5.0 / 6.0);
}

TEST(DivergentTest, ADifferenceBetweenCellsIsNotNoise) {
  // Cell 0 always says 0 of example 0, cell 1 always 1. Inside cell 1 example 1 is noisy.
  const CellMembers half{
      AnswersFrom({{0, 0}, {0, 0}, {1, 0}, {1, 1}}, 2), {0, 0, 1, 1}, {0, 2, 0, 2}};

  const DivergentSet set =
      Find(half, OneCell(AnswersFrom({{0, 0}}, 2), 1), std::vector<int32_t>{0, 0}, 10);

  ASSERT_EQ(set.examples.size(), 1u);
  EXPECT_EQ(set.examples[0].example, 1);
  EXPECT_DOUBLE_EQ(set.examples[0].selected_by, 0.5);  // One of two pairs.
}

TEST(DivergentTest, EveryPairWithinACellCountsAlikeWhateverTheSizeOfItsCell) {
  // Of four pairs examples 0 and 2 have two that disagree, example 1 has the one of the small cell.
  const CellMembers half{AnswersFrom({{0, 1, 0}, {0, 0, 0}, {0, 0, 1}, {0, 0, 0}, {1, 0, 0}}, 2),
                         {4, 4, 7, 7, 7},
                         {0, 2, 0, 2, 4}};

  const DivergentSet set =
      Find(half, OneCell(AnswersFrom({{0, 0, 0}}, 2), 1), std::vector<int32_t>{0, 0, 0}, 10);

  ASSERT_EQ(set.examples.size(), 3u);
  EXPECT_EQ(set.examples[0].example, 0);
  EXPECT_EQ(set.examples[1].example, 2);
  EXPECT_DOUBLE_EQ(set.examples[1].selected_by, 0.5);
  EXPECT_EQ(set.examples[2].example, 1);
  EXPECT_DOUBLE_EQ(set.examples[2].selected_by, 0.25);
}

TEST(DivergentTest, OneMeasuringMemberHasAnAccuracyAndNoDisagreement) {
  const CellMembers selecting = OneCell(AnswersFrom({{0}, {1}}, 2));
  const CellMembers measuring = OneCell(AnswersFrom({{1}}, 2), 1);

  const DivergentSet set = Find(selecting, measuring, std::vector<int32_t>{1}, 5);

  ASSERT_EQ(set.examples.size(), 1u);
  EXPECT_FALSE(set.examples[0].disagreement.value.has_value());
  EXPECT_DOUBLE_EQ(*set.examples[0].accuracy.value, 1.0);
}

TEST(DivergentTest, NothingIsChosenByOneMemberOfACellOrByAgreement) {
  const CellMembers one = OneCell(AnswersFrom({{0, 1}}, 2), 1);
  const CellMembers alone{AnswersFrom({{0, 1}, {1, 0}}, 2), {0, 1}, {0, 0}};
  const CellMembers agreeing = OneCell(AnswersFrom({{0, 1}, {0, 1}}, 2));
  const std::vector<int32_t> labels = {0, 1};

  EXPECT_TRUE(Find(one, agreeing, labels, 5).examples.empty());
  EXPECT_TRUE(Find(alone, agreeing, labels, 5).examples.empty());
  EXPECT_TRUE(Find(agreeing, one, labels, 5).examples.empty());
  EXPECT_TRUE(Find(agreeing, one, labels, 5).by_all.empty());
  EXPECT_EQ(Find(agreeing, one, labels, 5).subset.accuracy.note,
            "needs four replicates, there are 3");
}

// Of examples that as many pairs disagree on none is left out for its number.
TEST(DivergentTest, WhomAllDisagreeOnMostAreAllOfThemThatDisagreeAsMuch) {
  const CellMembers selecting = OneCell(AnswersFrom({{0, 0, 0, 0, 0}, {1, 1, 1, 0, 0}}, 2));
  const CellMembers measuring = OneCell(AnswersFrom({{0, 0, 1, 0, 0}, {0, 0, 1, 1, 0}}, 2), 1);
  const std::vector<int32_t> labels(5, 0);

  // Of six pairs: 3, 3, 3, 3, 0.
  EXPECT_EQ(Find(selecting, measuring, labels, 1).by_all, (std::vector<int64_t>{0, 1, 2, 3}));
}

// Share of the pairs within cells that disagree on these examples, written out, without one
// replicate; nan without a pair.
double SlowDisagreement(const CellMembers& half, const std::vector<int64_t>& examples,
                        std::optional<uint32_t> without = std::nullopt) {
  double differing = 0;
  double pairs = 0;
  for (size_t i = 0; i < half.cells.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (half.cells[i] != half.cells[j]) continue;
      if (without && (half.replicates[i] == *without || half.replicates[j] == *without)) continue;
      for (const int64_t x : examples) {
        const size_t at = static_cast<size_t>(x);
        differing += Differ(half.answers.Row(static_cast<int64_t>(i))[at],
                            half.answers.Row(static_cast<int64_t>(j))[at]);
        ++pairs;
      }
    }
  }
  return pairs == 0 ? std::nan("") : differing / pairs;
}

// Random answers of five cells, in which some members are missing.
CellMembers RandomHalf(Draws& draws, uint32_t replicates, uint32_t first) {
  std::vector<std::pair<uint32_t, uint32_t>> members;
  for (uint32_t cell = 0; cell < 5; ++cell) {
    for (uint32_t r = 0; r < replicates; ++r) {
      if (draws.Uniform() < 0.8) members.emplace_back(cell, first + 2 * r);
    }
  }
  CellMembers half{RandomAnswers(draws, static_cast<int64_t>(members.size()), 30, 4, true), {}, {}};
  for (const auto& [cell, replicate] : members) {
    half.cells.push_back(cell);
    half.replicates.push_back(replicate);
  }
  return half;
}

// The replicates that are in a pair.
std::set<uint32_t> Paired(const CellMembers& half) {
  std::set<uint32_t> paired;
  for (size_t i = 0; i < half.cells.size(); ++i) {
    for (size_t j = 0; j < half.cells.size(); ++j) {
      if (i != j && half.cells[i] == half.cells[j]) paired.insert(half.replicates[i]);
    }
  }
  return paired;
}

void ExpectSlowTwin(const CellMembers& measuring, const std::vector<int64_t>& examples,
                    const Estimate& fast) {
  const double value = SlowDisagreement(measuring, examples);
  const std::set<uint32_t> replicates = Paired(measuring);
  const double n = static_cast<double>(replicates.size());
  ASSERT_NEAR(*fast.value, value, 1e-12);
  EXPECT_EQ(fast.n, static_cast<int64_t>(replicates.size()));
  double squares = 0;
  for (const uint32_t replicate : replicates) {
    const double without = SlowDisagreement(measuring, examples, replicate);
    squares += (without - value) * (without - value);
  }
  const double half = TQuantile(n - 1, 0.975) * std::sqrt(squares * (n - 1) / n);
  if (!(squares > 1e-20)) return;
  ASSERT_TRUE(fast.low.has_value());
  EXPECT_NEAR(*fast.low, std::max(0.0, value - half), 1e-12);
  EXPECT_NEAR(*fast.high, std::min(1.0, value + half), 1e-12);
}

TEST(DivergentTest, EqualsItsSlowTwinThatLeavesOutWholeReplicates) {
  Draws draws(31);
  for (int round = 0; round < 40; ++round) {
    const CellMembers selecting = RandomHalf(draws, 4, 0);
    const CellMembers measuring = RandomHalf(draws, 5, 1);

    const DivergentSet set = Find(selecting, measuring, std::vector<int32_t>(30, 1), 12);

    std::vector<int64_t> chosen;
    for (const Divergent& example : set.examples) {
      EXPECT_NEAR(example.selected_by, SlowDisagreement(selecting, {example.example}), 1e-12);
      ExpectSlowTwin(measuring, {example.example}, example.disagreement);
      chosen.push_back(example.example);
    }
    ASSERT_EQ(chosen.size(), 12u);
  }
}

TEST(DivergentTest, CellsThatShareTheirSeedsDoNotNarrowTheIntervals) {
  // Ten cells that say the same, as where hardware changes nothing: no more is known than from one.
  Draws draws(5);
  const PredictionMatrix once = RandomAnswers(draws, 5, 40, 3, false);
  const PredictionMatrix others = RandomAnswers(draws, 4, 40, 3, false);
  const auto repeated = [](const PredictionMatrix& rows, uint32_t first, uint32_t cells) {
    CellMembers many{PredictionMatrix(40, 3), {}, {}};
    for (uint32_t cell = 0; cell < cells; ++cell) {
      for (int64_t r = 0; r < rows.members(); ++r) {
        EXPECT_TRUE(many.answers.AddAnswers(rows.Row(r)).ok());
        many.cells.push_back(cell);
        many.replicates.push_back(first + 2 * static_cast<uint32_t>(r));
      }
    }
    return many;
  };
  const std::vector<int32_t> labels(40, 1);

  const DivergentSet alone = Find(repeated(others, 0, 1), repeated(once, 1, 1), labels, 10);
  const DivergentSet many = Find(repeated(others, 0, 10), repeated(once, 1, 10), labels, 10);

  EXPECT_EQ(many.subset.disagreement.n, 9);
  EXPECT_NEAR(*many.subset.disagreement.low, *alone.subset.disagreement.low, 1e-12);
  EXPECT_NEAR(*many.subset.disagreement.high, *alone.subset.disagreement.high, 1e-12);
  EXPECT_NEAR(*many.subset.accuracy.low, *alone.subset.accuracy.low, 1e-12);
  EXPECT_NEAR(*many.examples[0].accuracy.value, *alone.examples[0].accuracy.value, 1e-12);
  EXPECT_NEAR(*many.examples[0].accuracy.low, *alone.examples[0].accuracy.low, 1e-12);
}

TEST(DivergentTest, NoIntervalWhereLeavingOutAReplicateLeavesNoPair) {
  const CellMembers selecting = OneCell(AnswersFrom({{0}, {1}}, 2));
  // Replicate 1 is in both pairs.
  const CellMembers measuring{AnswersFrom({{0}, {1}, {0}, {0}}, 2), {0, 0, 1, 1}, {1, 3, 1, 5}};

  const DivergentSet set = Find(selecting, measuring, std::vector<int32_t>{0}, 5);

  ASSERT_EQ(set.examples.size(), 1u);
  const Estimate& disagreement = set.examples[0].disagreement;
  EXPECT_DOUBLE_EQ(*disagreement.value, 0.5);
  EXPECT_EQ(disagreement.n, 3);
  EXPECT_FALSE(disagreement.low.has_value());
  EXPECT_EQ(disagreement.note, "without one of them no pair is left: no interval");
}

}  // namespace
}  // namespace noisefloor::analysis
