#include "coordinator/analysis/equivalence.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/hardware.h"
#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

// The margin, in standard deviations of a paired difference, that has this power: by bisection.
double MarginFor(double power, int64_t n, bool paired, bool one_sided) {
  double low = 0;
  double high = 20;
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (EquivalencePower(n, 1, middle, paired, one_sided) < power ? low : high) = middle;
  }
  return high;
}

// Found by simulation of paired normal differences, not by this code: 80 and 90 %.
TEST(EquivalencePowerTest, IsThatOfSimulatedStudies) {
  const struct {
    int64_t n;
    double at_80;
    double at_90;
  } rows[] = {{5, 1.60, 1.82}, {10, 1.02, 1.14}, {20, 0.68, 0.78}, {30, 0.56, 0.62}};
  for (const auto& row : rows) {
    EXPECT_NEAR(MarginFor(0.8, row.n, true, false), row.at_80, 0.02) << row.n;
    EXPECT_NEAR(MarginFor(0.9, row.n, true, false), row.at_90, 0.02) << row.n;
  }
}

// With very many draws the error is known: two normal tails, or one.
TEST(EquivalencePowerTest, IsThatOfNormalTestsWithManyDraws) {
  const double z_two = NormalQuantile(0.95) + NormalQuantile(0.9);
  const double z_one = NormalQuantile(0.95) + NormalQuantile(0.8);
  const int64_t n = 100000;
  EXPECT_NEAR(MarginFor(0.8, n, true, false) * std::sqrt(n), z_two, 0.002);
  EXPECT_NEAR(MarginFor(0.8, n, true, true) * std::sqrt(n), z_one, 0.002);
  EXPECT_EQ(EquivalencePower(1, 1, 1, true, false), 0);
}

// Two sides of three draws have the degrees of five pairs: by the root of 5 / 3 a wider margin has
// the same power.
TEST(EquivalencePowerTest, OfTwoSidesBothTellTheError) {
  for (const bool one_sided : {false, true}) {
    for (const double margin : {1.0, 1.6, 2.4}) {
      EXPECT_NEAR(EquivalencePower(3, 1, margin * std::sqrt(5.0 / 3), false, one_sided),
                  EquivalencePower(5, 1, margin, true, one_sided), 1e-9);
    }
  }
}

// Tails of Student's t from SciPy (stats.t.sf).
TEST(EquivalenceTest, PIsTheLargerOfTwoOneSidedTests) {
  const Jackknifed a = MeanWithoutEach(std::vector<double>{1, 2, 3, 4});
  const Jackknifed b = MeanWithoutEach(std::vector<double>{1.5, 2.25, 3.5, 4.75});
  const Difference difference = DifferenceOf(a, b, /*paired=*/true);
  EXPECT_DOUBLE_EQ(difference.value, 0.5);
  // Differences 0.5, 0.25, 0.5, 0.75: SD 0.204124, error 0.102062.
  EXPECT_NEAR(difference.standard_error, 0.1020621, 1e-7);
  EXPECT_EQ(difference.degrees, 3);
  // t = (1 - 0.5) / 0.102062 = 4.898979 with 3 degrees.
  EXPECT_NEAR(*EquivalenceP(difference, 1), 0.0081383, 1e-7);
  EXPECT_NEAR(*EquivalenceP(difference, 0.5), 0.5, 1e-12);
  EXPECT_EQ(*BeyondP(difference, 0.5), 1);
  // t = (0.5 - 0.1) / 0.102062 = 3.919184: one tail 0.0147707.
  EXPECT_NEAR(*BeyondP(difference, 0.1), 2 * 0.0147707, 2e-7);
  Difference above = difference;
  above.one_sided = true;
  EXPECT_NEAR(*BeyondP(above, 0.1), 2 * 0.0147707, 2e-7) << "a two-sided interval lies beyond";
  above.value = -0.5;
  EXPECT_LT(*EquivalenceP(above, 0.1), 0.01) << "below 0 is not far";
  EXPECT_GT(*EquivalenceP(DifferenceOf(b, a, true), 0.1), 0.9) << "either way is";
}

// 30 draws on one side and 5 on the other, each with a variance of 1: n draws a side have an error
// of sqrt(2 / n).
TEST(EquivalenceTest, OfUnequalSidesOneDrawOfEachHasBothVariances) {
  const auto alternating = [](int n) {  // Variance n / (n - 1), for an even n.
    std::vector<double> values;
    for (int i = 0; i < n; ++i) values.push_back(i % 2 == 0 ? 1 : -1);
    return MeanWithoutEach(values);
  };
  const Difference difference = DifferenceOf(alternating(30), alternating(6), /*paired=*/false);
  EXPECT_NEAR(difference.sd, std::sqrt(30.0 / 29 + 6.0 / 5), 1e-9);
  EXPECT_NEAR(difference.standard_error, std::sqrt(1.0 / 29 + 1.0 / 5), 1e-9);
}

TEST(EquivalenceTest, WithoutAnErrorNothingIsSaid) {
  const Jackknifed two = MeanWithoutEach(std::vector<double>{1, 2});
  const Difference difference = DifferenceOf(two, two, true);
  EXPECT_EQ(difference.degrees, 0);
  EXPECT_FALSE(EquivalenceP(difference, 1).has_value());
  EXPECT_FALSE(BeyondP(difference, 1).has_value());
  EXPECT_FALSE(DrawsToDecide(difference, 1).has_value());
}

TEST(DrawsToDecideTest, AreTheFewestThatHaveThePower) {
  Difference difference;
  difference.n = 10;
  difference.degrees = 9;
  difference.standard_error = 1 / std::sqrt(10.0);
  difference.sd = 1;  // At most 1.294 at 80 %.
  const double upper = std::sqrt(9 / ChiSquareQuantile(9, 0.2));
  for (const bool one_sided : {false, true}) {
    difference.one_sided = one_sided;
    for (const double margin : {0.3, 1.0, 3.0}) {
      const int64_t draws = *DrawsToDecide(difference, margin);
      EXPECT_GE(EquivalencePower(draws, upper, margin, true, one_sided), 0.8);
      if (draws > 3) {
        EXPECT_LT(EquivalencePower(draws - 1, upper, margin, true, one_sided), 0.8);
      }
    }
  }
  // Three a side tell of 1.60 sqrt(5 / 3) standard deviations, see above; these are 3 / 1.294.
  difference.paired = difference.one_sided = false;
  EXPECT_EQ(DrawsToDecide(difference, 3), 3);
  EXPECT_FALSE(DrawsToDecide(difference, 0).has_value());
  EXPECT_FALSE(DrawsToDecide(difference, 1e-5).has_value()) << "more than a million";
}

PredictionMatrix Answers(Draws& draws, int64_t members, int64_t examples) {
  PredictionMatrix matrix(examples, 4);
  for (int64_t m = 0; m < members; ++m) {
    std::vector<int16_t> row;
    for (int64_t x = 0; x < examples; ++x) row.push_back(static_cast<int16_t>(draws.Below(4)));
    EXPECT_TRUE(matrix.AddAnswers(row).ok());
  }
  return matrix;
}

PredictionMatrix Without(const PredictionMatrix& of, int64_t left_out) {
  PredictionMatrix matrix(of.examples(), of.classes());
  for (int64_t m = 0; m < of.members(); ++m) {
    if (m != left_out) {
      EXPECT_TRUE(matrix.AddAnswers(of.Row(m)).ok());
    }
  }
  return matrix;
}

TEST(ShiftBetweenTest, OfPairsIsTheExcessOfChurn) {
  Draws draws(3);
  const PredictionMatrix a = Answers(draws, 5, 40);
  const PredictionMatrix b = Answers(draws, 5, 40);
  const Estimate excess = CompareSides(a, b).excess;
  const Difference shift = ShiftBetween(a, b, /*paired=*/true);
  EXPECT_NEAR(shift.value, *excess.value, 1e-12);
  EXPECT_NEAR(shift.value + TQuantile(4, 0.975) * shift.standard_error, *excess.high, 1e-9);
  EXPECT_EQ(shift.degrees, 4);
  EXPECT_TRUE(shift.one_sided);
}

// Every draw left out in turn, from the formula.
TEST(ShiftBetweenTest, OfOtherDrawsIsThatOfASlowTwin) {
  Draws draws(4);
  const PredictionMatrix a = Answers(draws, 4, 30);
  const PredictionMatrix b = Answers(draws, 6, 30);
  const auto churn = [](const PredictionMatrix& s, int64_t i, const PredictionMatrix& t,
                        int64_t j) {
    double apart = 0;
    for (size_t x = 0; x < 30; ++x) apart += s.Row(i)[x] != t.Row(j)[x];
    return apart / 30;
  };
  const auto inside = [&](const PredictionMatrix& s) {
    double sum = 0;
    const auto n = static_cast<double>(s.members());
    for (int64_t i = 0; i < s.members(); ++i) {
      for (int64_t j = 0; j < s.members(); ++j) sum += i == j ? 0 : churn(s, i, s, j);
    }
    return sum / (n * (n - 1));
  };
  const auto shift_of = [&](const PredictionMatrix& s, const PredictionMatrix& t) {
    double across = 0;
    for (int64_t i = 0; i < s.members(); ++i) {
      for (int64_t j = 0; j < t.members(); ++j) across += churn(s, i, t, j);
    }
    return across / static_cast<double>(s.members() * t.members()) - (inside(s) + inside(t)) / 2;
  };
  double variance = 0;
  for (int64_t i = 0; i < 4; ++i)
    variance += 0.75 * std::pow(shift_of(Without(a, i), b) - shift_of(a, b), 2);
  for (int64_t j = 0; j < 6; ++j)
    variance += 5.0 / 6 * std::pow(shift_of(a, Without(b, j)) - shift_of(a, b), 2);

  const Difference shift = ShiftBetween(a, b, /*paired=*/false);
  EXPECT_NEAR(shift.value, shift_of(a, b), 1e-12);
  EXPECT_NEAR(shift.standard_error, std::sqrt(variance), 1e-9);
  EXPECT_EQ(shift.n, 4);
  EXPECT_FALSE(shift.paired);
}

// Every two members differ in the two examples that are their own.
TEST(ShiftBetweenTest, WhatIsLeftOfEqualChurnsIsNoError) {
  PredictionMatrix a(300, 2);
  PredictionMatrix b(300, 2);
  for (size_t m = 0; m < 14; ++m) {
    std::vector<int16_t> row(300, 0);
    row[m] = 1;
    ASSERT_TRUE((m < 7 ? a : b).AddAnswers(row).ok());
  }
  const Difference shift = ShiftBetween(a, b, /*paired=*/false);
  EXPECT_EQ(shift.value, 0);
  EXPECT_EQ(shift.degrees, 0);
}

}  // namespace
}  // namespace noisefloor::analysis
