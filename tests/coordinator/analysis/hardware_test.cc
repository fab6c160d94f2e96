#include "coordinator/analysis/hardware.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"
#include "tests/coordinator/analysis/slow_jackknife.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

constexpr double kNoEstimate = std::numeric_limits<double>::quiet_NaN();

TEST(HardwareTest, ChurnsAgreeWithTheSlowTwinOnRandomInputs) {
  Draws draws(7);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t n = 2 + draws.Below(5);
    const PredictionMatrix a = RandomAnswers(draws, n, 30, 5, trial % 2 == 0);
    const PredictionMatrix b = RandomAnswers(draws, n, 30, 5, trial % 3 == 0);
    double paired = 0, unpaired = 0, within = 0, others = 0;
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t s = 0; s < n; ++s) {
        if (r == s) {
          paired += Churn(a.Row(r), b.Row(r)) / static_cast<double>(n);
          continue;
        }
        unpaired += Churn(a.Row(r), b.Row(s));
        within += Churn(a.Row(r), a.Row(s)) / 2 + Churn(b.Row(r), b.Row(s)) / 2;
        others += 1;
      }
    }

    EXPECT_NEAR(*PairedChurn(a, b).value, paired, 1e-12);
    const ChurnOfSides sides = CompareSides(a, b);
    EXPECT_NEAR(*sides.across.value, unpaired / others, 1e-12);
    EXPECT_NEAR(*sides.excess.value, (unpaired - within) / others, 1e-12);
    for (const auto& [inside, of] : {std::pair(&sides.within_a, &a), {&sides.within_b, &b}}) {
      const Estimate slow = MeanChurn(*of);
      EXPECT_EQ(inside->value, slow.value);
      EXPECT_EQ(inside->low, slow.low);
      EXPECT_EQ(inside->high, slow.high);
    }
  }
}

// Expects the mean of the values with Student's t, added up in the plainest way.
void ExpectMeanWithT(const Estimate& estimate, const std::vector<double>& values, double low,
                     double high) {
  const double n = static_cast<double>(values.size());
  long double mean = 0, squares = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double error = static_cast<double>(std::sqrt(squares / (n - 1) / n));
  EXPECT_NEAR(*estimate.value, static_cast<double>(mean), 1e-10);
  EXPECT_EQ(estimate.low.has_value(), error > 1e-12);
  if (!estimate.low) return;
  const Interval expected = *TInterval(static_cast<double>(mean), error, estimate.n);
  EXPECT_NEAR(*estimate.low, std::max(low, expected.low), 1e-9);
  EXPECT_NEAR(*estimate.high, std::min(high, expected.high), 1e-9);
}

TEST(HardwareTest, PairedFiguresAgreeWithTheSlowTwinOnRandomInputs) {
  Draws draws(11);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t n = 2 + draws.Below(6);
    const PredictionMatrix a = RandomAnswers(draws, n, 30, 5, trial % 2 == 0);
    const PredictionMatrix b = RandomAnswers(draws, n, 30, 5, trial % 3 == 0);
    std::vector<double> churn, before, after, differences;
    for (int64_t r = 0; r < n; ++r) {
      churn.push_back(Churn(a.Row(r), b.Row(r)));
      before.push_back(0.9 + 0.01 * draws.Normal());
      after.push_back(0.9 + 0.01 * draws.Normal());
      differences.push_back(after.back() - before.back());
    }

    ExpectMeanWithT(PairedChurn(a, b), churn, 0, 1);
    ExpectMeanWithT(PairedDifference(before, after, "fraction"), differences, -1, 1);
  }
}

// By the definition of the excess of row r of A against row s of B.
long double SlowExcess(const PredictionMatrix& a, const PredictionMatrix& b, int64_t r, int64_t s) {
  const long double within = Churn(a.Row(r), a.Row(s)) + Churn(b.Row(r), b.Row(s));
  return Churn(a.Row(r), b.Row(s)) - within / 2;
}

TEST(HardwareTest, IntervalsAgreeWithTheSlowJackknifeOnRandomInputs) {
  Draws draws(9);
  int64_t without_interval = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int64_t n = 3 + draws.Below(4);
    const int64_t examples = 1 + draws.Below(trial % 2 == 0 ? 4 : 40);
    const PredictionMatrix a = RandomAnswers(draws, n, examples, 2, trial % 3 == 0);
    const PredictionMatrix b = RandomAnswers(draws, n, examples, 2, trial % 5 == 0);

    const Estimate excess = CompareSides(a, b).excess;

    ExpectJackknife(CompareSides(a, b).across, n, 0, 1,
                    [&](auto r, auto s) { return Churn(a.Row(r), b.Row(s)); });
    ExpectJackknife(
        excess, n, -1, 1, [&](auto r, auto s) { return SlowExcess(a, b, r, s); },
        /*against_zero=*/true);
    without_interval += !excess.low.has_value();
  }
  EXPECT_GT(without_interval, 0);
}

TEST(HardwareTest, DifferencesThatCancelHaveAMeanOfExactlyZero) {
  const std::vector<double> a = {0.1, 0.2, 0.7};
  const std::vector<double> b = {0.4, 0.2, 0.4};  // 0.3 more, equal, 0.3 less.
  ASSERT_NE((b[0] - a[0]) + (b[2] - a[2]), 0);

  const Estimate difference = PairedDifference(a, b, "fraction");

  EXPECT_EQ(*difference.value, 0);
  EXPECT_TRUE(difference.low.has_value());
}

TEST(HardwareTest, WhatIsLeftOfTermsThatCancelIsZeroWithoutAnInterval) {
  // Of every pair of replicates, as many answers differ across as within: n = 3, ten examples, and
  // tenths are no binary fractions.
  const PredictionMatrix a = AnswersFrom({{0, 0, 0, 0, 0, 0, 0, 1, 0, 0},
                                          {0, 1, 1, 1, 1, 1, 0, 1, 1, 1},
                                          {0, 0, 0, 0, 0, 0, 0, 0, 1, 0}},
                                         2);
  const PredictionMatrix b = AnswersFrom({{0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
                                          {0, 1, 0, 0, 1, 0, 1, 0, 0, 0},
                                          {1, 1, 0, 1, 0, 0, 0, 0, 0, 0}},
                                         2);

  const Estimate excess = CompareSides(a, b).excess;

  EXPECT_GT(*MeanChurn(a).value, 0.1);
  EXPECT_EQ(excess.value, 0.0);
  EXPECT_FALSE(excess.low.has_value());
  EXPECT_FALSE(excess.high.has_value());
  EXPECT_FALSE(excess.detectable.has_value());
  EXPECT_EQ(excess.note, "leaving out any one member changes nothing: no interval");
}

TEST(HardwareTest, DifferencesThatAreEqualButForRoundingHaveNoInterval) {
  const std::vector<double> a = {0.1, 0.2, 0.7};
  const std::vector<double> b = {0.2, 0.3, 0.8};  // In doubles, three different tenths above.
  ASSERT_NE(b[0] - a[0], b[2] - a[2]);

  const Estimate difference = PairedDifference(a, b, "fraction");

  EXPECT_DOUBLE_EQ(*difference.value, 0.1);
  EXPECT_FALSE(difference.low.has_value());
  EXPECT_EQ(difference.note, "all 3 values are equal: no interval");
  const std::vector<double> same = {0.1 + 0.2};
  EXPECT_EQ(PairedDifference(same, std::vector<double>{0.3}, "fraction").value, 0.0);
}

TEST(HardwareTest, AHardwareThatChangesTheSameAnswersInAllMembersAddsToTheNoise) {
  // Inside each side nothing differs; between the sides one answer of four does.
  const PredictionMatrix a = AnswersFrom({{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, 2);
  const PredictionMatrix b = AnswersFrom({{0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}}, 2);

  EXPECT_DOUBLE_EQ(*PairedChurn(a, b).value, 0.25);
  EXPECT_DOUBLE_EQ(*CompareSides(a, b).excess.value, 0.25);
  EXPECT_EQ(PairedChurn(a, b).note, "all 3 values are equal: no interval");
  EXPECT_EQ(CompareSides(a, b).excess.note,
            "leaving out any one member changes nothing: no interval");
}

TEST(HardwareTest, PairedDifferenceIsBMinusAWithAPairedInterval) {
  const std::vector<double> a = {0.8, 0.9, 0.7, kNoEstimate};
  const std::vector<double> b = {0.9, 1.0, 0.9, 0.5};

  const Estimate difference = PairedDifference(a, b, "fraction");

  // Differences 0.1, 0.1, 0.2: SD 0.057735, t(2) = 4.302653.
  EXPECT_NEAR(*difference.value, 0.4 / 3, 1e-12);
  EXPECT_NEAR(*difference.high - *difference.low, 2 * 4.302653 * 0.0577350 / std::sqrt(3.0), 1e-6);
  EXPECT_EQ(difference.n, 3);
  // Paired, from zero: the non-centrality 5.65349 of scipy.stats.nct with 2 degrees, times
  // 0.057735 / sqrt(3).
  EXPECT_NEAR(*difference.detectable, 0.18844964221351904, 1e-9);
  EXPECT_THAT(difference.note, HasSubstr("1 of 4 values"));
  EXPECT_FALSE(PairedDifference({}, {}, "fraction").value.has_value());
}

TEST(HardwareTest, CorrelationAgreesWithTheSlowTwin) {
  Draws draws(8);
  for (int trial = 0; trial < 50; ++trial) {
    const size_t n = static_cast<size_t>(4 + draws.Below(10));
    std::vector<double> a(n), b(n);
    for (size_t r = 0; r < n; ++r) {
      a[r] = draws.Normal();
      b[r] = 0.5 * a[r] + draws.Normal();
    }
    const double ma = MeanOf(a), mb = MeanOf(b);
    double ab = 0, aa = 0, bb = 0;
    for (size_t r = 0; r < n; ++r) {
      ab += (a[r] - ma) * (b[r] - mb);
      aa += (a[r] - ma) * (a[r] - ma);
      bb += (b[r] - mb) * (b[r] - mb);
    }

    const Estimate estimate = CorrelationOfPairs(a, b);

    EXPECT_NEAR(*estimate.value, ab / std::sqrt(aa * bb), 1e-12);
    EXPECT_LT(*estimate.low, *estimate.value);
    EXPECT_GT(*estimate.high, *estimate.value);
  }
}

TEST(HardwareTest, TheCorrelationsIntervalIsThatOfScipy) {
  // scipy.stats.pearsonr(a, b).confidence_interval(0.95)
  const std::vector<double> a = {0.71, 0.74, 0.69, 0.75, 0.72, 0.70};
  const std::vector<double> b = {0.72, 0.745, 0.70, 0.74, 0.715, 0.71};

  const Estimate r = CorrelationOfPairs(a, b);

  EXPECT_NEAR(*r.value, 0.9449111825230682, 1e-12);
  EXPECT_NEAR(*r.low, 0.5719571397152888, 1e-10);
  EXPECT_NEAR(*r.high, 0.994124658695204, 1e-10);
  EXPECT_EQ(r.n, 6);
}

TEST(HardwareTest, CorrelationIsAbsentWhereNothingVaries) {
  const std::vector<double> rising = {1, 2, 3, 4};
  const std::vector<double> flat = {1, 1, 1, 1};

  EXPECT_EQ(CorrelationOfPairs(rising, flat).note, "one side does not vary");
  EXPECT_EQ(CorrelationOfPairs(std::vector<double>{1, 2}, std::vector<double>{1, 2}).note,
            "needs three pairs, there are 2");
  EXPECT_DOUBLE_EQ(*CorrelationOfPairs(rising, rising).value, 1.0);
  EXPECT_FALSE(CorrelationOfPairs(rising, rising).low.has_value());
}

TEST(HardwareTest, PairsOfWhichASideHasNoValueAreInNoCorrelation) {
  const std::vector<double> a = {1, kNoEstimate, 2, 4, 3};
  const std::vector<double> b = {2, 5, kNoEstimate, 8, 6};  // Twice as much, where both are there.

  const Estimate r = CorrelationOfPairs(a, b);

  EXPECT_NEAR(*r.value, 1, 1e-12);
  EXPECT_EQ(r.n, 3);
}

TEST(HardwareTest, LogitsCorrelationHandComputed) {
  const Floats rising = {1, 2, 3}, twice = {2, 4, 6}, falling = {3, 2, 1};
  const auto of = [](const Floats& a, const Floats& b) {
    return CorrelateLogits(std::vector{Logits(a)}, std::vector{Logits(b)}).paired.value;
  };

  EXPECT_DOUBLE_EQ(*of(rising, twice), 1.0);
  EXPECT_DOUBLE_EQ(*of(rising, falling), -1.0);
  EXPECT_DOUBLE_EQ(*of({1, 0, -1, 0}, {0, 1, 0, -1}), 0.0);
  EXPECT_FALSE(of({1, 1}, {1, 2}).has_value());
}

long double SlowPearson(const Floats& a, const Floats& b) {
  const auto n = static_cast<long double>(a.size());
  long double mean_a = 0, mean_b = 0, ab = 0, aa = 0, bb = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    mean_a += a[k] / n;
    mean_b += b[k] / n;
  }
  for (size_t k = 0; k < a.size(); ++k) {
    ab += (a[k] - mean_a) * (b[k] - mean_b);
    aa += (a[k] - mean_a) * (a[k] - mean_a);
    bb += (b[k] - mean_b) * (b[k] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// The interval of r that has the error of the one of log(1 - r): d log(1 - r) = -dr / (1 - r).
Estimate Symmetric(Estimate estimate) {
  if (!estimate.high) return estimate;
  const double unlike = 1 - *estimate.value;
  const double error = -std::log((1 - *estimate.high) / unlike) * unlike;
  EXPECT_NEAR(*estimate.low, std::max(-1.0, 1 - unlike * std::exp(error / unlike)), 1e-9);
  estimate.low = std::max(-1.0, *estimate.value - error);
  estimate.high = std::min(1.0, *estimate.value + error);
  return estimate;
}

TEST(HardwareTest, LogitsCorrelationsAgreeWithTheSlowTwinsOnRandomInputs) {
  Draws draws(10);
  for (int trial = 0; trial < 40; ++trial) {
    const size_t n = static_cast<size_t>(3 + draws.Below(5));
    const size_t size = static_cast<size_t>(3 + draws.Below(40));
    std::vector<Floats> a(n, Floats(size)), b(n, Floats(size));
    std::vector<double> paired;
    for (size_t r = 0; r < n; ++r) {
      for (float& v : a[r]) v = static_cast<float>(3 + draws.Normal());
      for (size_t k = 0; k < size; ++k) b[r][k] = a[r][k] + static_cast<float>(draws.Normal());
      paired.push_back(static_cast<double>(SlowPearson(a[r], b[r])));
    }

    const LogitsCorrelations correlations = CorrelateLogits(
        std::vector<Logits>(a.begin(), a.end()), std::vector<Logits>(b.begin(), b.end()));

    ExpectMeanWithT(Symmetric(correlations.paired), paired, -1, 1);
    ExpectJackknife(Symmetric(correlations.unpaired), static_cast<int64_t>(n), -1, 1,
                    [&](auto r, auto s) {
                      return SlowPearson(a[static_cast<size_t>(r)], b[static_cast<size_t>(s)]);
                    });
  }
}

TEST(HardwareTest, LogitsWithoutACommonPartHaveACorrelationOfZeroNotOfRounding) {
  // Orthogonal, but the mean of the second is no binary fraction: products add up to -5.6e-17.
  const Floats first = {-1, 2, 1, 1, -2, -1}, second = {0.3f, 0.8f, 0.3f, 0.3f, 0.8f, 0.3f};
  const std::vector<Logits> a(3, Logits(first));
  const std::vector<Logits> b(3, Logits(second));

  const LogitsCorrelations correlations = CorrelateLogits(a, b);

  EXPECT_EQ(correlations.paired.value, 0.0);
  EXPECT_EQ(correlations.unpaired.value, 0.0);
  EXPECT_FALSE(correlations.unpaired.low.has_value());
}

TEST(HardwareTest, PairedAndUnpairedLogitsAreToldApart) {
  // Member r of B equals member r of A; different members are uncorrelated.
  const Floats first = {1, 0, -1, 0}, second = {0, 1, 0, -1}, third = {1, -1, 1, -1};
  const std::vector<Logits> side = {Logits(first), Logits(second), Logits(third)};

  const LogitsCorrelations correlations = CorrelateLogits(side, side);

  EXPECT_DOUBLE_EQ(*correlations.paired.value, 1.0);
  EXPECT_EQ(*correlations.unpaired.value, 0.0);
}

TEST(HardwareTest, LogitsThatCannotBeUsedAreLeftOutAndCounted) {
  const Floats good = {1, 2, 3}, other = {3, 1, 2}, bad = {1, std::nanf(""), 2}, shorter = {1, 2};
  const std::vector<Logits> a = {Logits(good), Logits(good), Logits(other), Logits(good)};
  const std::vector<Logits> b = {Logits(good), Logits(bad), Logits(other), Logits(shorter)};

  const LogitsCorrelations correlations = CorrelateLogits(a, b);

  EXPECT_EQ(correlations.paired.n, 2);
  EXPECT_DOUBLE_EQ(*correlations.paired.value, 1.0);
  EXPECT_THAT(correlations.paired.note, HasSubstr("2 pairs left out"));
  EXPECT_THAT(correlations.unpaired.note, HasSubstr("2 pairs left out"));
}

TEST(HardwareTest, OnePairHasAChurnAndNothingToSetItAgainst) {
  const PredictionMatrix a = AnswersFrom({{0, 0}}, 2);
  const PredictionMatrix b = AnswersFrom({{0, 1}}, 2);

  EXPECT_DOUBLE_EQ(*PairedChurn(a, b).value, 0.5);
  EXPECT_FALSE(PairedChurn(a, b).low.has_value());
  EXPECT_FALSE(CompareSides(a, b).across.value.has_value());
  EXPECT_FALSE(CompareSides(a, b).excess.value.has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
