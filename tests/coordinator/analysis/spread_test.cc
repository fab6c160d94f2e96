#include "coordinator/analysis/spread.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/contrast.h"
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
  for (const Estimate& spread : {SdEstimate(values, "nats"), RangeEstimate(values, "nats")}) {
    EXPECT_DOUBLE_EQ(*spread.value, spread.method.starts_with("largest") ? 2 : std::sqrt(2.0));
    EXPECT_EQ(spread.n, 2);
    EXPECT_EQ(spread.note, mean.note);
  }
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
  EXPECT_FALSE(SdEstimate(std::vector<double>{2, kNan}, "nats").value.has_value());
  EXPECT_FALSE(RangeEstimate(std::vector<double>{2, kNan}, "nats").value.has_value());
}

TEST(SpreadTest, RangeIsLargestMinusSmallest) {
  EXPECT_DOUBLE_EQ(*RangeEstimate(std::vector<double>{3, -1, 2}, "nats").value, 4);
}

TEST(IntervalTest, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(TQuantile(9, 0.975), 2.262157, 1e-6);
  EXPECT_NEAR(ChiSquareQuantile(9, 0.025), 2.700389, 1e-6);
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

TEST(IntervalTest, FishersIntervalIsThatOfScipy) {
  // tanh(atanh(r) -+ 1.959964 / sqrt(n - 3)); scipy.stats.pearsonr(...).confidence_interval().
  const Interval interval = *CorrelationInterval(0.8, 10);
  EXPECT_NEAR(interval.low, 0.34328844799174635, 1e-12);
  EXPECT_NEAR(interval.high, 0.9507383861974118, 1e-12);
}

// Power by scipy.stats.nct.sf (one tail), solved with brentq: |d| sqrt(n/2) = ncp(2n - 2),
// |d| sqrt(n) = ncp(n - 1).
TEST(DetectableTest, KnownAnswersOfScipy) {
  struct Row {
    int64_t n;
    double mean, paired;
  };
  for (const Row& row :
       {Row{2, 5.65348926640557, 11.549888435882353}, Row{3, 3.0708928437731537, 3.264043549819916},
        Row{5, 2.024440977358834, 1.681997282215744},
        Row{10, 1.324948895466981, 0.9960022543069523},
        Row{30, 0.735621964126018, 0.5292362447757992}}) {
    EXPECT_NEAR(*DetectableMeanDifference(row.n, 1), row.mean, 1e-8) << row.n;
    EXPECT_NEAR(*DetectableMeanDifference(row.n, 0.03), 0.03 * row.mean, 1e-9) << row.n;
    EXPECT_NEAR(*DetectablePairedDifference(row.n, 1), row.paired, 1e-8) << row.n;
  }
}

TEST(DetectableTest, AMeanAndASpreadSayWhatTheirNSees) {
  const std::vector<double> values = {0.71, 0.74, 0.69, 0.75};

  // SD 0.027538 (ddof 1), n = 4: 0.0655609 by scipy as above.
  EXPECT_NEAR(*MeanEstimate(values, "fraction").detectable, 0.06556089623282087, 1e-9);
  EXPECT_NEAR(*MeanEstimate(values, "fraction").low, 0.6786811311517498, 1e-12);
  EXPECT_NEAR(*MeanEstimate(values, "fraction").high, 0.7663188688482501, 1e-12);
  EXPECT_EQ(SdEstimate(std::vector<double>{1, 2, 3, 4, 5}, "nats").detectable,
            DetectableSdRatio(5));
  EXPECT_NEAR(*SdEstimate(std::vector<double>{1, 2, 3, 4, 5}, "nats").detectable, 14.74794074624247,
              1e-6);
}

TEST(PooledSdTest, IsTheRootOfThePooledVarianceWithItsDegrees) {
  const std::vector<std::vector<double>> blocks = {{0.70, 0.72}, {0.80, 0.83, kNan, 0.81}, {0.75}};

  const Estimate sd = PooledSdEstimate(blocks, "fraction");

  // Squares 0.0002 + 0.000466667 over 1 + 2 degrees; scipy.stats.chi2.ppf of 3 degrees.
  EXPECT_NEAR(*sd.value, 0.01490711984999857, 1e-14);
  EXPECT_NEAR(*sd.low, 0.008444727564971033, 1e-12);
  EXPECT_NEAR(*sd.high, 0.055581901107149854, 1e-12);
  EXPECT_EQ(sd.n, 5);  // The one of the last block tells nothing.
  EXPECT_THAT(sd.method, HasSubstr("pooled over blocks, 3 degrees of freedom"));
  EXPECT_EQ(sd.note, "1 of 7 values are not finite and left out");
  EXPECT_FALSE(sd.detectable.has_value()) << "two blocks have no contrast";
  const std::vector<std::vector<double>> three = {{0.70, 0.72}, {0.80, 0.83, 0.81}, {0.75, 0.76}};
  EXPECT_EQ(PooledSdEstimate(three, "fraction").detectable, DetectableSdRatioOverBlocks(3, 4));
}

TEST(PooledSdTest, OneBlockIsTheSdItself) {
  const std::vector<double> values = {0.71, 0.74, 0.69, 0.75};
  const Estimate pooled = PooledSdEstimate(std::vector<std::vector<double>>{values}, "fraction");
  const Estimate plain = SdEstimate(values, "fraction");
  EXPECT_NEAR(*pooled.value, *plain.value, 1e-15);
  EXPECT_NEAR(*pooled.low, *plain.low, 1e-15);
  EXPECT_NEAR(*pooled.high, *plain.high, 1e-15);
  EXPECT_EQ(pooled.n, plain.n);
}

TEST(PooledSdTest, WithoutASpreadThereIsNoIntervalAndWithoutAPairNoSpread) {
  const std::vector<std::vector<double>> equal = {{0.7, 0.7}, {0.8, 0.8}};
  EXPECT_EQ(*PooledSdEstimate(equal, "fraction").value, 0);
  EXPECT_FALSE(PooledSdEstimate(equal, "fraction").low.has_value());
  EXPECT_EQ(PooledSdEstimate(equal, "fraction").note,
            "inside each block all values are equal: no interval");
  const std::vector<std::vector<double>> single = {{0.7}, {0.8}};
  EXPECT_EQ(PooledSdEstimate(single, "fraction").note, "no block has two members");
}

// exp(ncp(n - 1) / sqrt(n - 1) (1 + 1.25 / (n - 2.1))), over blocks exp(ncp(blocks - 1) /
// sqrt(degrees) (1 + 1.1 / degrees)), with ncp by scipy as above.
TEST(DetectableTest, RatiosOfSpreadsAreLargeOfFewDraws) {
  EXPECT_NEAR(*DetectableSdRatio(10), 3.373661269177942, 1e-7);
  EXPECT_NEAR(*DetectableSdRatio(30), 1.7548797316672513, 1e-7);
  EXPECT_NEAR(*DetectableSdRatioOverBlocks(3, 27), 3.1029120264917975, 1e-7);
  EXPECT_NEAR(*DetectableSdRatioOverBlocks(3, 6), 15.350770552956371, 1e-6);
  EXPECT_FALSE(DetectableSdRatio(1).has_value());
  EXPECT_FALSE(DetectableSdRatio(2).has_value()) << "no interval";
  EXPECT_FALSE(DetectableSdRatio(3).has_value()) << "14,000";
  EXPECT_FALSE(DetectableSdRatioOverBlocks(2, 18).has_value()) << "no interval";
  EXPECT_FALSE(DetectableSdRatioOverBlocks(3, 0).has_value());
}

// In how many of a thousand studies the report's interval of a ratio of SDs is above 1. The draws
// are so many groups, or values.
double SeenRatios(int64_t groups, int64_t values, double ratio) {
  constexpr int kStudies = 1000;
  Draws draws(77);
  int seen = 0;
  for (int study = 0; study < kStudies; ++study) {
    const auto side = [&](double sd) {
      std::vector<std::vector<double>> sides(static_cast<size_t>(groups));
      for (std::vector<double>& group : sides) {
        for (int64_t k = 0; k < values; ++k) group.push_back(sd * draws.Normal());
      }
      return groups == 1 ? LogSdWithoutEach(sides[0]) : LogPooledSdWithoutEach(sides);
    };
    const Jackknifed a = side(1);
    const Jackknifed b = side(ratio);
    seen += PairedContrast(a, b, Scale::kRatio, "").estimate.low.value_or(0) > 1;
  }
  return static_cast<double>(seen) / kStudies;
}

TEST(DetectableTest, TheIntervalOfAContrastSeesTheRatioThatIsPromised) {
  for (const int64_t n : {5, 10, 30}) {
    EXPECT_NEAR(SeenRatios(1, n, *DetectableSdRatio(n)), 0.8, 0.05) << n;
  }
  EXPECT_NEAR(SeenRatios(3, 10, *DetectableSdRatioOverBlocks(3, 27)), 0.8, 0.05);
  EXPECT_NEAR(SeenRatios(4, 3, *DetectableSdRatioOverBlocks(4, 8)), 0.8, 0.05);
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

TEST(DetectableTest, NoneSeenInTenRunsStillAllowsTwentyEightPercent) {
  EXPECT_NEAR(*NoneSeenBound(10), 0.2831288355631135, 1e-12);
  EXPECT_NEAR(*NoneSeenBound(5), 0.5271291954984121, 1e-12);
  EXPECT_NEAR(*NoneSeenBound(2), 0.95, 1e-12);
  EXPECT_FALSE(NoneSeenBound(1).has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
