#include "coordinator/analysis/churn.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/analysis/slow_jackknife.h"

namespace noisefloor::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The definitions, written out.
double SlowChurn(const PredictionMatrix& m, int64_t i, int64_t j) {
  double differing = 0;
  for (int64_t x = 0; x < m.examples(); ++x) {
    const int16_t a = m.Row(i)[static_cast<size_t>(x)];
    const int16_t b = m.Row(j)[static_cast<size_t>(x)];
    if (a == kUndefined || b == kUndefined || a != b) differing += 1;
  }
  return differing / static_cast<double>(m.examples());
}

double SlowAnyDisagreement(const PredictionMatrix& m) {
  double hits = 0;
  for (int64_t x = 0; x < m.examples(); ++x) {
    bool all_equal = true;
    for (int64_t i = 0; i < m.members(); ++i) {
      for (int64_t j = 0; j < i; ++j) {
        all_equal = all_equal &&
                    !Differ(m.Row(i)[static_cast<size_t>(x)], m.Row(j)[static_cast<size_t>(x)]);
      }
    }
    if (!all_equal) hits += 1;
  }
  return hits / static_cast<double>(m.examples());
}

TEST(ChurnTest, AgreesWithTheSlowTwinOnRandomInputs) {
  Draws draws(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t members = 3 + draws.Below(6);
    const int64_t examples = 1 + draws.Below(40);
    const int32_t classes = static_cast<int32_t>(1 + draws.Below(12));
    const PredictionMatrix m = RandomAnswers(draws, members, examples, classes, trial % 2 == 0);

    const Estimate churn = MeanChurn(m);
    const PairMatrix pairs = ChurnMatrix(m);

    ExpectJackknife(churn, members, 0, 1, [&](int64_t i, int64_t j) { return SlowChurn(m, i, j); });
    for (int64_t i = 0; i < members; ++i) {
      for (int64_t j = 0; j < members; ++j) {
        EXPECT_DOUBLE_EQ(pairs.At(i, j), i == j ? 0 : SlowChurn(m, i, j));
      }
    }
    EXPECT_DOUBLE_EQ(*AnyDisagreement(m).value, SlowAnyDisagreement(m));
  }
}

TEST(ChurnTest, SumsFromCountsEqualSumsOverPairs) {
  Draws draws(2);
  for (int trial = 0; trial < 50; ++trial) {
    const PredictionMatrix m = RandomAnswers(draws, 1 + draws.Below(8), 17, 4, true);

    const PairSums fast = ChurnSums(m);
    const PairSums slow = SumPairs(ChurnMatrix(m));

    EXPECT_NEAR(fast.total, slow.total, 1e-12);
    ASSERT_EQ(fast.of_member.size(), slow.of_member.size());
    for (size_t k = 0; k < fast.of_member.size(); ++k) {
      EXPECT_NEAR(fast.of_member[k], slow.of_member[k], 1e-12);
    }
  }
}

TEST(ChurnTest, IsTheFractionThatDiffersNotTheFractionThatIsEqual) {
  // Pairs: 1 of 4, 2 of 4 and 3 of 4 differ.
  const PredictionMatrix m = AnswersFrom({{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 2, 0}}, 3);

  EXPECT_DOUBLE_EQ(Churn(m.Row(0), m.Row(1)), 0.25);
  EXPECT_DOUBLE_EQ(Churn(m.Row(0), m.Row(2)), 0.5);
  EXPECT_DOUBLE_EQ(Churn(m.Row(1), m.Row(2)), 0.75);
  EXPECT_DOUBLE_EQ(*MeanChurn(m).value, 0.5);
  EXPECT_DOUBLE_EQ(*AnyDisagreement(m).value, 0.75);
}

TEST(ChurnTest, TheJackknifeIsAsComputedByHand) {
  // Churn 0-1: 0.25, 0-2: 0.5, 1-2: 0.75. Without 0: 0.75, without 1: 0.5, without 2: 0.25.
  const PredictionMatrix m = AnswersFrom({{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 2, 0}}, 3);

  const Estimate churn = MeanChurn(m);

  // sqrt(2/3 * (0.25^2 + 0 + 0.25^2)) = 0.288675; t(2) at 97.5 % = 4.30265.
  EXPECT_DOUBLE_EQ(*churn.low, 0.0);  // 0.5 - 1.242, cut at zero.
  EXPECT_DOUBLE_EQ(*churn.high, 1.0);
  EXPECT_THAT(churn.method, HasSubstr("jackknife"));
}

// Far from 0 and 1, so that nothing of the interval is cut.
TEST(ChurnTest, TheJackknifesStandardErrorIsAsComputedByHand) {
  // Of 1,000 examples 250 (0-1), 260 (0-2) and 254 (1-2) differ: means without one of 0.254, 0.26
  // and 0.25 beside 0.254667; sqrt(2/3 * (0.000667^2 + 0.005333^2 + 0.004667^2)) = 0.00581187 and
  // t(2) = 4.302653. Detectable by scipy.stats.nct: 3.070893 * 0.00581187 * sqrt(3).
  std::vector<std::vector<int16_t>> rows(3, std::vector<int16_t>(1000, 0));
  for (size_t x = 0; x < 1000; ++x) {
    rows[1][x] = x < 250 ? 1 : 0;
    rows[2][x] = 122 <= x && x < 382 ? 1 : 0;
  }

  const Estimate churn = MeanChurn(AnswersFrom(rows, 2));

  EXPECT_NEAR(*churn.value, 0.764 / 3, 1e-14);
  EXPECT_NEAR(*churn.low, 0.2296602287, 1e-9);
  EXPECT_NEAR(*churn.high, 0.2796731046, 1e-9);
  EXPECT_NEAR(*churn.detectable, 0.0309129767, 1e-8);
  EXPECT_EQ(churn.n, 3);
}

TEST(ChurnTest, TheIntervalOfAnyDisagreementIsWilsonsOverExamples) {
  // scipy.stats.binomtest(k, N).proportion_ci(method="wilson") of 3 of 4 and 37 of 150 examples,
  // whatever the number of members.
  const Estimate any = AnyDisagreement(AnswersFrom({{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 1, 2, 0}}, 3));
  EXPECT_NEAR(*any.low, 0.30064184258240184, 1e-12);
  EXPECT_NEAR(*any.high, 0.9544127391902995, 1e-12);

  std::vector<std::vector<int16_t>> rows(5, std::vector<int16_t>(150, 0));
  for (size_t x = 0; x < 37; ++x) rows[x % 5][x] = 1;
  EXPECT_NEAR(*AnyDisagreement(AnswersFrom(rows, 2)).low, 0.18458162955288543, 1e-12);
  EXPECT_NEAR(*AnyDisagreement(AnswersFrom(rows, 2)).high, 0.3214032942602734, 1e-12);
}

TEST(ChurnTest, OneMemberHasNoChurnAndSaysWhy) {
  const PredictionMatrix m = AnswersFrom({{0, 1}}, 2);

  EXPECT_FALSE(MeanChurn(m).value.has_value());
  EXPECT_EQ(MeanChurn(m).note, "needs two members, there are 1");
  EXPECT_FALSE(AnyDisagreement(m).value.has_value());
  EXPECT_EQ(AnyDisagreement(m).note, "needs two members, there are 1");
}

TEST(ChurnTest, TwoMembersHaveAValueButNoInterval) {
  const Estimate churn = MeanChurn(AnswersFrom({{0, 1}, {0, 0}}, 2));

  EXPECT_DOUBLE_EQ(*churn.value, 0.5);
  EXPECT_FALSE(churn.low.has_value());
  EXPECT_EQ(churn.note, "one pair: no interval");
}

TEST(ChurnTest, EqualMembersAreNotGivenAnIntervalOfWidthZero) {
  const Estimate churn = MeanChurn(AnswersFrom({{0, 1}, {0, 1}, {0, 1}}, 2));
  const Estimate any = AnyDisagreement(AnswersFrom({{0, 1}, {0, 1}, {0, 1}}, 2));

  EXPECT_DOUBLE_EQ(*churn.value, 0.0);
  EXPECT_FALSE(churn.high.has_value());
  EXPECT_EQ(churn.note, "no difference seen in 3 members: no interval");
  EXPECT_DOUBLE_EQ(*any.value, 0.0);
  EXPECT_FALSE(any.high.has_value());
}

TEST(ChurnTest, UndefinedAnswersDisagreeEvenWithEachOther) {
  const PredictionMatrix m = AnswersFrom({{kUndefined, 0}, {kUndefined, 0}}, 2);

  EXPECT_DOUBLE_EQ(*MeanChurn(m).value, 0.5);
  EXPECT_DOUBLE_EQ(*AnyDisagreement(m).value, 0.5);
}

TEST(ChurnTest, WithoutExamplesNothingIsEstimated) {
  PredictionMatrix m(0, 3);
  ASSERT_TRUE(m.AddLogits({}).ok());
  ASSERT_TRUE(m.AddLogits({}).ok());

  EXPECT_EQ(MeanChurn(m).note, "there are no examples");
  EXPECT_EQ(AnyDisagreement(m).note, "there are no examples");
}

TEST(ChurnTest, AnyDisagreementGrowsWithMembersAndNamesTheirNumber) {
  Draws draws(3);
  const PredictionMatrix ten = RandomAnswers(draws, 10, 200, 5, false);
  const PredictionMatrix three = ten.Select(std::vector<int64_t>{0, 1, 2});

  EXPECT_LT(*AnyDisagreement(three).value, *AnyDisagreement(ten).value);
  EXPECT_THAT(AnyDisagreement(ten).method, HasSubstr("not all 10 members agree"));
}

TEST(ChurnTest, TheIntervalOfAnyDisagreementSaysThatItIsNotOverMembers) {
  const Estimate any = AnyDisagreement(AnswersFrom({{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}, 2));

  EXPECT_TRUE(any.low.has_value());
  EXPECT_FALSE(any.detectable.has_value());
  EXPECT_THAT(any.method, HasSubstr("Wilson over examples, not members"));
  EXPECT_THAT(any.note, HasSubstr("over examples, for these 3 members: how other draws of members "
                                  "would spread cannot be seen"));
}

TEST(ChurnTest, PairsThatDifferAreCountedByExample) {
  // Example 0: answers 0, 0, 1: two of three pairs differ. Example 1: all equal.
  const PredictionMatrix m = AnswersFrom({{0, 1}, {0, 1}, {1, 1}}, 2);

  EXPECT_THAT(PairsThatDiffer(m), ElementsAre(2, 0));
}

TEST(CountDifferingTest, CountsLongRowsAsTheirParts) {
  Draws draws(17);
  for (const int64_t examples : {1, 63, 64, 65, 1000, 64 * 65535 + 70}) {
    const PredictionMatrix rows = RandomAnswers(draws, 2, examples, 3, /*some_undefined=*/true);
    int64_t expected = 0;
    for (int64_t x = 0; x < examples; ++x) {
      const auto at = static_cast<size_t>(x);
      expected += Differ(rows.Row(0)[at], rows.Row(1)[at]);
    }
    EXPECT_EQ(CountDiffering(rows.Row(0), rows.Row(1)), expected) << examples;
  }
}

TEST(CountDifferingTest, FromAllIsTheSumOverAll) {
  Draws draws(18);
  // More counts than are kept at a time.
  for (const int32_t classes : {3, 30000}) {
    const PredictionMatrix rows = RandomAnswers(draws, 4, 50, classes, /*some_undefined=*/true);
    const PredictionMatrix others = RandomAnswers(draws, 3, 50, classes, /*some_undefined=*/true);
    const std::vector<int64_t> counted = CountDifferingFromAll(rows, others);
    for (int64_t r = 0; r < rows.members(); ++r) {
      int64_t expected = 0;
      for (int64_t s = 0; s < others.members(); ++s) {
        expected += CountDiffering(rows.Row(r), others.Row(s));
      }
      EXPECT_EQ(counted[static_cast<size_t>(r)], expected);
    }
  }
}

// The share of examples on which not all of a group agree, over all groups of k of `members`.
double SlowAnyOf(const PredictionMatrix& answers, const std::vector<int64_t>& members, size_t k) {
  std::vector<bool> in(members.size(), false);
  std::fill(in.begin(), in.begin() + static_cast<ptrdiff_t>(k), true);
  double sum = 0;
  double groups = 0;
  do {
    std::vector<int64_t> group;
    for (size_t i = 0; i < members.size(); ++i) {
      if (in[i]) group.push_back(members[i]);
    }
    for (int64_t x = 0; x < answers.examples(); ++x) {
      const auto at = static_cast<size_t>(x);
      sum += std::ranges::any_of(group, [&](int64_t m) {
        return m != group[0] && Differ(answers.Row(m)[at], answers.Row(group[0])[at]);
      });
    }
    ++groups;
  } while (std::prev_permutation(in.begin(), in.end()));
  return sum / groups / static_cast<double>(answers.examples());
}

TEST(AnyOfTest, AgreesWithTheSlowTwinAndItsJackknife) {
  Draws draws(41);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t n = 4 + draws.Below(4);
    const int64_t k = 2 + draws.Below(2);
    const PredictionMatrix answers =
        RandomAnswers(draws, n, 1 + draws.Below(60), 4, /*some_undefined=*/trial % 2 == 1);
    std::vector<int64_t> all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), int64_t{0});
    double squares = 0;
    const double whole = SlowAnyOf(answers, all, static_cast<size_t>(k));
    for (int64_t left_out = 0; left_out < n; ++left_out) {
      std::vector<int64_t> rest = all;
      rest.erase(rest.begin() + left_out);
      squares += std::pow(SlowAnyOf(answers, rest, static_cast<size_t>(k)) - whole, 2);
    }
    const double error = std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
    const double half = TQuantile(static_cast<double>(n - 1), 0.975) * error;

    const Estimate estimate = AnyOf(answers, k);

    ASSERT_TRUE(estimate.value.has_value());
    EXPECT_NEAR(*estimate.value, whole, 1e-12) << n << " " << k;
    EXPECT_EQ(estimate.n, n);
    if (error < 1e-9) continue;
    EXPECT_NEAR(*estimate.low, std::max(0.0, whole - half), 1e-9) << n << " " << k;
    EXPECT_NEAR(*estimate.high, std::min(1.0, whole + half), 1e-9) << n << " " << k;
  }
}

TEST(AnyOfTest, OfTwoItIsTheChurn) {
  Draws draws(42);
  const PredictionMatrix answers = RandomAnswers(draws, 7, 300, 5, /*some_undefined=*/false);
  const Estimate of_two = AnyOf(answers, 2);
  const Estimate churn = MeanChurn(answers);
  EXPECT_NEAR(*of_two.value, *churn.value, 1e-12);
  EXPECT_NEAR(*of_two.low, *churn.low, 1e-12);
  EXPECT_NEAR(*of_two.high, *churn.high, 1e-12);
}

TEST(AnyOfTest, WithoutASpreadOrMembersThereIsNoInterval) {
  PredictionMatrix answers(4, 2);
  const std::vector<int16_t> row = {0, 1, 0, 1};
  const std::vector<int16_t> other = {0, 1, 0, 0};
  ASSERT_TRUE(answers.AddAnswers(row).ok() && answers.AddAnswers(row).ok());
  EXPECT_FALSE(AnyOf(answers, 3).value.has_value());
  EXPECT_EQ(AnyOf(answers, 3).note, "needs 3 members, there are 2");
  ASSERT_TRUE(answers.AddAnswers(other).ok());
  EXPECT_DOUBLE_EQ(*AnyOf(answers, 3).value, 0.25);
  EXPECT_FALSE(AnyOf(answers, 3).low.has_value());
  EXPECT_EQ(AnyOf(answers, 3).note, "no interval from 3 members");
  PredictionMatrix equal(4, 2);
  for (int m = 0; m < 5; ++m) ASSERT_TRUE(equal.AddAnswers(row).ok());
  EXPECT_EQ(AnyOf(equal, 3).value, 0);
  EXPECT_EQ(AnyOf(equal, 3).note, "no difference seen in 5 members: no interval");
  EXPECT_FALSE(AnyOf(PredictionMatrix(0, 2), 3).value.has_value());
}

// Rounding of very many examples would leave an interval of a figure that is 0.
TEST(AnyOfTest, WhereAllAgreeNothingIsLeftOfRounding) {
  for (const int64_t n : {8, 23, 30, 100}) {
    PredictionMatrix answers(50000, 10);
    const std::vector<int16_t> row(50000, 3);
    for (int64_t m = 0; m < n; ++m) ASSERT_TRUE(answers.AddAnswers(row).ok());
    const Estimate estimate = AnyOf(answers, 3);
    EXPECT_EQ(estimate.value, 0) << n;
    EXPECT_FALSE(estimate.low.has_value()) << n;
  }
}

}  // namespace
}  // namespace noisefloor::analysis
