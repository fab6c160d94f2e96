#include "coordinator/analysis/sequential.h"

#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/churn.h"
#include "coordinator/analysis/interval.h"
#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

TEST(PseudoValuesTest, HaveTheMeanAndTheJackknifesIntervalOfTheMeanOverPairs) {
  Draws draws(71);
  for (int trial = 0; trial < 50; ++trial) {
    const int64_t members = 3 + draws.Below(9);
    const PredictionMatrix answers = RandomAnswers(draws, members, 40, 4, trial % 2 == 0);
    const std::vector<double> values = PseudoValues(ChurnSums(answers));
    const Estimate churn = MeanChurn(answers);
    ASSERT_EQ(static_cast<int64_t>(values.size()), members);
    EXPECT_NEAR(MeanOf(values), *churn.value, 1e-12);
    const Interval of_values =
        *TInterval(MeanOf(values), SdOf(values) / std::sqrt(static_cast<double>(members)), members);
    EXPECT_NEAR(std::max(0.0, of_values.low), *churn.low, 1e-12);
    EXPECT_NEAR(std::min(1.0, of_values.high), *churn.high, 1e-12);
  }
}

TEST(PseudoValuesTest, AreNoneBelowThreeMembers) {
  Draws draws(72);
  EXPECT_TRUE(PseudoValues(ChurnSums(RandomAnswers(draws, 2, 40, 4, false))).empty());
  EXPECT_EQ(PseudoValues(ChurnSums(RandomAnswers(draws, 3, 40, 4, false))).size(), 3u);
}

// t(9; 97.5 %) = 2.262157, t(4) = 2.776445.
TEST(SteinTest, SizesOfKnownPilots) {
  EXPECT_EQ(SteinSize(1.0, 10, 0.8), 10);     // 7.996: the pilot is more.
  EXPECT_EQ(SteinSize(1.0, 10, 0.6), 15);     // 14.215
  EXPECT_EQ(SteinSize(1.0, 10, 0.4), 32);     // 31.983
  EXPECT_EQ(SteinSize(0.02, 5, 0.005), 124);  // 123.34
  EXPECT_EQ(SteinSize(0, 10, 0.4), 10);
  // Nothing overflows where a pilot says nothing of use.
  EXPECT_EQ(SteinSize(1e300, 10, 1e-300), int64_t{1} << 53);
}

TEST(SteinTest, ASpreadForWhichSoManyAreEnoughTakesSoMany) {
  const double spread = SteinSpread(10, 60, 0.005);
  EXPECT_NEAR(spread, 0.005 * std::sqrt(60) / 2.262157, 1e-8);
  EXPECT_EQ(SteinSize(spread * 0.9999, 10, 0.005), 60);
  EXPECT_EQ(SteinSize(spread * 1.0001, 10, 0.005), 61);
}

TEST(SteinTest, TheIntervalHasThePilotsSpreadAndDegreesAndAllValues) {
  Estimate mean = MeanEstimate(std::vector<double>(32, 0.5), "fraction");
  SetSteinInterval(mean, 0.1, 10);
  EXPECT_NEAR(*mean.low, 0.5 - 2.262157 * 0.1 / std::sqrt(32), 1e-8);
  EXPECT_NEAR(*mean.high, 0.5 + 2.262157 * 0.1 / std::sqrt(32), 1e-8);
  EXPECT_EQ(mean.method, "Stein's two stages: the spread is the pilot's");
}

TEST(SteinTest, WithoutAValueOrASpreadOrWithFewerThanThePilotNothingIsSet) {
  Estimate few = MeanEstimate(std::vector<double>{0.4, 0.5, 0.6}, "fraction");
  const Estimate before = few;
  SetSteinInterval(few, 0.1, 10);
  EXPECT_EQ(few.low, before.low);
  SetSteinInterval(few, std::numeric_limits<double>::quiet_NaN(), 3);
  EXPECT_EQ(few.high, before.high);
  Estimate absent = Absent("fraction", 12, "why");
  SetSteinInterval(absent, 0.1, 10);
  EXPECT_FALSE(absent.low.has_value());
}

// Equal values of the pilot tell nothing of those that come.
TEST(SteinTest, APilotOfEqualValuesGivesNoInterval) {
  Estimate mean = MeanEstimate(std::vector<double>{0.5, 0.5, 0.5, 0.5, 0.5, 0.4, 0.6}, "fraction");
  SetSteinInterval(mean, 0, 5);
  EXPECT_FALSE(mean.low || mean.high);
  EXPECT_EQ(mean.note, "all of the pilot were equal, and the interval is by its spread: none");
}

// The ratio of likelihoods by its definition: noncentral t averaged over effects, against central.
double RatioOfLikelihoods(double t, double n) {
  const double degrees = n - 1;
  constexpr double kPriorSd = 2;  // Of the effect in standard deviations: variance 4.
  const auto integrand = [&](double effect) {
    const double prior = std::exp(-effect * effect / (2 * kPriorSd * kPriorSd)) /
                         (kPriorSd * std::sqrt(2 * std::numbers::pi));
    const boost::math::non_central_t_distribution<double> shifted(degrees, effect * std::sqrt(n));
    return prior * boost::math::pdf(shifted, t);
  };
  const double mixed = boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
      integrand, -12.0, 12.0, 12, 1e-9);
  return mixed / boost::math::pdf(boost::math::students_t_distribution<double>(degrees), t);
}

TEST(AlwaysValidTest, AtItsEdgeTheRatioOfLikelihoodsIsTwenty) {
  for (const int64_t n : {4, 5, 8, 15, 30}) {
    const auto half = AlwaysValidHalfWidth(n);
    ASSERT_TRUE(half.has_value()) << n;
    const double t = *half * std::sqrt(static_cast<double>(n));
    EXPECT_NEAR(RatioOfLikelihoods(t, static_cast<double>(n)), 20, 0.02) << n;
  }
}

TEST(AlwaysValidTest, IsLessThanTwiceAsWideAsOneLookFromFiveOnAndNarrowsWithN) {
  EXPECT_FALSE(AlwaysValidHalfWidth(1).has_value());
  EXPECT_FALSE(AlwaysValidHalfWidth(3).has_value());
  double last = std::numeric_limits<double>::infinity();
  for (int64_t n = 4; n <= 1000; ++n) {
    const double half = *AlwaysValidHalfWidth(n);
    const double one_look =
        TQuantile(static_cast<double>(n - 1), 0.975) / std::sqrt(static_cast<double>(n));
    EXPECT_LT(half, last);
    EXPECT_GT(half, 1.7 * one_look);
    EXPECT_LT(half, (n == 4 ? 2.3 : 2.0) * one_look);
    last = half;
  }
}

TEST(AlwaysValidTest, TakesThePlaceOfTheIntervalOfOneLook) {
  const std::vector<double> values = {0.80, 0.82, 0.79,
                                      0.83, 0.81, std::numeric_limits<double>::quiet_NaN()};
  Estimate mean = MeanEstimate(values, "fraction");
  const double narrow = *mean.high - *mean.low;
  SetAlwaysValidInterval(mean, values);
  EXPECT_NEAR(*mean.high - *mean.low, 2 * *AlwaysValidHalfWidth(5) * std::sqrt(0.00025), 1e-12);
  EXPECT_GT(*mean.high - *mean.low, narrow);
  EXPECT_EQ(mean.method, "holds at every look, after each member");
}

TEST(AlwaysValidTest, OfThreeThereIsNoneAndOfEqualValuesNothingChanges) {
  const std::vector<double> three = {0.80, 0.82, 0.79};
  Estimate mean = MeanEstimate(three, "fraction");
  ASSERT_TRUE(mean.low.has_value());
  SetAlwaysValidInterval(mean, three);
  EXPECT_FALSE(mean.low.has_value() || mean.high.has_value());
  EXPECT_EQ(mean.note, "an interval that holds at every look needs four members");
  const std::vector<double> equal(6, 0.8);
  Estimate same = MeanEstimate(equal, "fraction");
  const Estimate before = same;
  SetAlwaysValidInterval(same, equal);
  EXPECT_EQ(same.low, before.low);
  EXPECT_EQ(same.note, before.note);
}

}  // namespace
}  // namespace noisefloor::analysis
