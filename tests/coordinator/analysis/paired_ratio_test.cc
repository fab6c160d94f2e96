// Ratios of paired times against values worked out by hand.
#include "coordinator/analysis/paired_ratio.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace noisefloor::analysis {
namespace {

TEST(PairedRatioTest, TheIntervalIsStudentsOfTheLogarithms) {
  // ln ratios are ln 1.5 + 0.1 and ln 1.5 - 0.1: standard error 0.1, and t(1; 0.975) = 12.7062.
  const std::vector<double> b = {2.0, 7.0};
  const std::vector<double> a = {3.0 * std::exp(0.1), 10.5 * std::exp(-0.1)};
  const Estimate ratio = PairedRatio(a, b);
  ASSERT_TRUE(ratio.value && ratio.low && ratio.high);
  EXPECT_NEAR(*ratio.value, 1.5, 1e-12);
  EXPECT_NEAR(*ratio.low, 1.5 * std::exp(-1.27062), 1e-5);
  EXPECT_NEAR(*ratio.high, 1.5 * std::exp(1.27062), 1e-4);
  EXPECT_EQ(ratio.n, 2);
  EXPECT_EQ(ratio.unit, "ratio");
}

TEST(PairedRatioTest, TheOtherWayRoundIsTheReciprocal) {
  const std::vector<double> a = {1.0, 3.0, 4.0, 8.0};
  const std::vector<double> b = {1.0, 2.0, 5.0, 4.0};
  const Estimate one = PairedRatio(a, b);
  const Estimate other = PairedRatio(b, a);
  EXPECT_NEAR(*one.value * *other.value, 1, 1e-12);
  EXPECT_NEAR(*one.low * *other.high, 1, 1e-12);
}

TEST(PairedRatioTest, PairsTakeWhatBothHadInCommonAway) {
  // A machine that is four times as slow in every other round: the ratio of each pair is 1.5.
  std::vector<double> a;
  std::vector<double> b;
  for (int i = 0; i < 20; ++i) {
    b.push_back(i % 2 == 0 ? 1.0 : 4.0);
    a.push_back(1.5 * b.back());
  }
  const Estimate ratio = PairedRatio(a, b);
  EXPECT_NEAR(*ratio.value, 1.5, 1e-12);
  EXPECT_NEAR(*ratio.high - *ratio.low, 0, 1e-9);
}

TEST(PairedRatioTest, TimesThatAreNoneAreLeftOutAndCounted) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Estimate ratio =
      PairedRatio(std::vector<double>{2, nan, 0, 2}, std::vector<double>{1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(*ratio.value, 2);
  EXPECT_EQ(ratio.n, 2);
  EXPECT_EQ(ratio.note, "2 pairs without a time are left out");
  EXPECT_FALSE(PairedRatio({}, {}).value);
  const Estimate single = PairedRatio(std::vector<double>{3}, std::vector<double>{2});
  EXPECT_DOUBLE_EQ(*single.value, 1.5);
  EXPECT_FALSE(single.low) << "one pair knows nothing of another";
}

TEST(PairedRatioTest, OverRunsEachRunCountsOnce) {
  const Estimate ratio =
      RatioOverRuns(std::vector<double>{1.5 * std::exp(0.1), 1.5 * std::exp(-0.1)});
  EXPECT_NEAR(*ratio.value, 1.5, 1e-12);
  EXPECT_NEAR(*ratio.low, 1.5 * std::exp(-1.27062), 1e-5);
  EXPECT_EQ(ratio.n, 2);
}

TEST(PairedRatioTest, TheMedianIsInTheMiddle) {
  EXPECT_DOUBLE_EQ(MedianOf(std::vector<double>{5, 1, 100}), 5);
  EXPECT_DOUBLE_EQ(MedianOf(std::vector<double>{5, 1, 100, 7}), 6);
  EXPECT_TRUE(std::isnan(MedianOf({})));
}

}  // namespace
}  // namespace noisefloor::analysis
