#include "coordinator/analysis/spread.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/detectable.h"
#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SpreadTest, AgreesWithTheSlowTwinOnRandomInputs) {
  Draws draws(5);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> values(static_cast<size_t>(2 + draws.Below(20)));
    for (double& value : values) value = 0.9 + 0.001 * draws.Normal();
    long double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    const long double mean = sum / static_cast<long double>(values.size());
    for (const double value : values) squares += (value - mean) * (value - mean);
    const long double sd = std::sqrt(squares / static_cast<long double>(values.size() - 1));

    EXPECT_NEAR(MeanOf(values), static_cast<double>(mean), 1e-14);
    EXPECT_NEAR(SdOf(values), static_cast<double>(sd), 1e-14);
    EXPECT_NEAR(*MeanEstimate(values, "fraction").value, static_cast<double>(mean), 1e-14);
    EXPECT_NEAR(*SdEstimate(values, "fraction").value, static_cast<double>(sd), 1e-14);
  }
}

TEST(SpreadTest, HandComputedIntervals) {
  const std::vector<double> values = {1, 2, 3, 4, 5};  // Mean 3, SD sqrt(2.5).

  const Estimate mean = MeanEstimate(values, "nats");
  const Estimate sd = SdEstimate(values, "nats");

  EXPECT_DOUBLE_EQ(*mean.value, 3);
  EXPECT_NEAR(*mean.low, 3 - 2.776445 * std::sqrt(2.5 / 5), 1e-5);
  EXPECT_NEAR(*mean.high, 3 + 2.776445 * std::sqrt(2.5 / 5), 1e-5);
  // Chi-square with 4 degrees: 0.484419 and 11.143287.
  EXPECT_NEAR(*sd.low, std::sqrt(2.5 * 4 / 11.143287), 1e-5);
  EXPECT_NEAR(*sd.high, std::sqrt(2.5 * 4 / 0.484419), 1e-4);
  EXPECT_EQ(mean.detectable_kind, "difference");
  EXPECT_EQ(sd.detectable_kind, "ratio");
}

TEST(SpreadTest, EqualValuesHaveSpreadZeroExactlyAndNoInterval) {
  const std::vector<double> values(7, 0.1);

  const Estimate mean = MeanEstimate(values, "fraction");
  const Estimate sd = SdEstimate(values, "fraction");

  EXPECT_EQ(*mean.value, 0.1);
  EXPECT_FALSE(mean.low.has_value());
  EXPECT_EQ(*sd.value, 0.0);
  EXPECT_FALSE(sd.high.has_value());
  EXPECT_EQ(sd.note, "all 7 values are equal: no interval");
}

TEST(SpreadTest, ValuesThatAreNotFiniteAreLeftOutAndCounted) {
  const std::vector<double> values = {1, kNan, 3, std::numeric_limits<double>::infinity()};

  const Estimate mean = MeanEstimate(values, "nats");

  EXPECT_DOUBLE_EQ(*mean.value, 2);
  EXPECT_EQ(mean.n, 2);
  EXPECT_EQ(mean.note, "2 of 4 values are not finite and left out");
}

TEST(SpreadTest, TooFewValuesAreAbsentInWords) {
  EXPECT_EQ(MeanEstimate({}, "nats").note, "needs one member, there are 0");
  EXPECT_FALSE(MeanEstimate({}, "nats").value.has_value());
  EXPECT_EQ(MeanEstimate(std::vector<double>{kNan}, "nats").note,
            "needs one member, there are 0; 1 of 1 values are not finite and left out");
  EXPECT_DOUBLE_EQ(*MeanEstimate(std::vector<double>{2}, "nats").value, 2);
  EXPECT_EQ(MeanEstimate(std::vector<double>{2}, "nats").note, "one value: no interval");
  EXPECT_FALSE(SdEstimate(std::vector<double>{2}, "nats").value.has_value());
  EXPECT_FALSE(RangeEstimate(std::vector<double>{2}, "nats").value.has_value());
}

TEST(SpreadTest, RangeIsLargestMinusSmallest) {
  EXPECT_DOUBLE_EQ(*RangeEstimate(std::vector<double>{3, -1, 2}, "nats").value, 4);
}

TEST(IntervalTest, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(TQuantile(9, 0.975), 2.262157, 1e-6);
  EXPECT_NEAR(ChiSquareQuantile(9, 0.025), 2.700389, 1e-6);
  EXPECT_NEAR(FQuantile(9, 9, 0.975), 4.025994, 1e-5);
  EXPECT_NEAR(NormalQuantile(0.975), 1.959964, 1e-6);
}

TEST(IntervalTest, WilsonStaysInsideZeroAndOne) {
  EXPECT_NEAR(WilsonInterval(1, 10)->low, 0.017876, 1e-5);
  EXPECT_NEAR(WilsonInterval(1, 10)->high, 0.404150, 1e-5);
  EXPECT_EQ(WilsonInterval(0, 10)->low, 0.0);
  EXPECT_EQ(WilsonInterval(10, 10)->high, 1.0);
  EXPECT_FALSE(WilsonInterval(0, 0).has_value());
}

TEST(IntervalTest, AbsentWhereThereIsNone) {
  EXPECT_FALSE(TInterval(1, 1, 1).has_value());
  EXPECT_FALSE(TInterval(kNan, 1, 5).has_value());
  EXPECT_FALSE(SdInterval(1, 1).has_value());
  EXPECT_FALSE(CorrelationInterval(0.5, 3).has_value());
  EXPECT_FALSE(CorrelationInterval(1.0, 9).has_value());
  EXPECT_FALSE(CorrelationInterval(kNan, 9).has_value());
}

TEST(DetectableTest, RatiosOfSpreadsAreThoseOfTheLiterature) {
  EXPECT_NEAR(*DetectableSdRatio(10), 2.7, 0.05);
  EXPECT_NEAR(*DetectableSdRatio(30), 1.7, 0.05);
  EXPECT_NEAR(*DetectableSdRatio(100), 1.3, 0.05);
  EXPECT_FALSE(DetectableSdRatio(1).has_value());
}

TEST(DetectableTest, MeansAreThoseOfTheTablesOfPower) {
  // Cohen: 17 in each group for d = 1, 64 for d = 0.5 (two-sided 5 %, 80 %).
  EXPECT_NEAR(*DetectableMeanDifference(17, 1), 0.99, 0.01);
  EXPECT_NEAR(*DetectableMeanDifference(64, 1), 0.5, 0.002);
  EXPECT_NEAR(*DetectablePairedDifference(34, 1), 0.5, 0.01);
  EXPECT_DOUBLE_EQ(*DetectableMeanDifference(10, 0), 0);
  EXPECT_FALSE(DetectableMeanDifference(1, 1).has_value());
  EXPECT_FALSE(DetectableMeanDifference(5, kNan).has_value());
}

TEST(DetectableTest, NoneSeenInTenRunsStillAllowsTwentySixPercent) {
  EXPECT_NEAR(*NoneSeenBound(10), 0.2589, 1e-4);
  EXPECT_NEAR(*NoneSeenBound(1), 0.95, 1e-12);
  EXPECT_FALSE(NoneSeenBound(0).has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
