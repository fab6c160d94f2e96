#include "coordinator/analysis/shrinkage.h"

#include <cmath>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

TEST(ShrinkageTest, ThePriorByMomentsEqualsThatOfNumPy) {
  const std::vector<int64_t> flips = {0, 0, 0, 1, 5, 10, 0, 2, 9, 0};

  const std::optional<SharesPrior> prior = PriorOfShares(flips, 10);

  ASSERT_TRUE(prior.has_value());
  EXPECT_NEAR(prior->alpha, 0.13455528338542103, 1e-12);
  EXPECT_NEAR(prior->beta, 0.36379761804206423, 1e-12);
}

TEST(ShrinkageTest, ThePosteriorEqualsThatOfSciPy) {
  const Estimate share = ShrunkenShare({0.5, 2.5}, 3, 12);

  EXPECT_DOUBLE_EQ(*share.value, 3.5 / 15);
  EXPECT_NEAR(*share.low, 0.06433507753822254, 1e-9);
  EXPECT_NEAR(*share.high, 0.469023667093546, 1e-9);
  EXPECT_EQ(share.n, 12);
}

TEST(ShrinkageTest, WhereOneShareExplainsAllThereIsNoPrior) {
  EXPECT_FALSE(PriorOfShares(std::vector<int64_t>{0, 0, 0}, 4).has_value());
  EXPECT_FALSE(PriorOfShares(std::vector<int64_t>{4, 4}, 4).has_value());
  EXPECT_FALSE(PriorOfShares(std::vector<int64_t>{2, 2, 2, 2}, 4).has_value());
}

TEST(ShrinkageTest, ThingsThatAlwaysOrNeverSucceedHaveAPriorAllTheSame) {
  const std::optional<SharesPrior> prior = PriorOfShares(std::vector<int64_t>{0, 6, 6, 0, 0}, 6);

  ASSERT_TRUE(prior.has_value());
  EXPECT_NEAR(prior->alpha / (prior->alpha + prior->beta), 0.4, 1e-12);
  EXPECT_GT(*ShrunkenShare(*prior, 6, 6).value, 0.99);
  EXPECT_LT(*ShrunkenShare(*prior, 0, 6).value, 0.01);
}

// Planted Beta(1/2, 1), the square of a uniform: it is found, the posterior means are right on
// average also of those that flipped most, and its intervals hold what was planted.
TEST(ShrinkageTest, PlantedRatesAreFoundWithoutTheWinnersCurse) {
  Draws draws(77);
  constexpr int kThings = 20000;
  constexpr int64_t kTrials = 8;
  std::vector<double> rates;
  std::vector<int64_t> counts;
  for (int k = 0; k < kThings; ++k) {
    rates.push_back(std::pow(draws.Uniform(), 2));
    int64_t count = 0;
    for (int64_t t = 0; t < kTrials; ++t) count += draws.Uniform() < rates.back();
    counts.push_back(count);
  }
  const std::optional<SharesPrior> prior = PriorOfShares(counts, kTrials);
  ASSERT_TRUE(prior.has_value());
  EXPECT_NEAR(prior->alpha, 0.5, 0.05);
  EXPECT_NEAR(prior->beta, 1, 0.1);
  double truth = 0;
  double shrunken = 0;
  double most = 0;
  double held = 0;
  for (size_t k = 0; k < counts.size(); ++k) {
    const Estimate one = ShrunkenShare(*prior, counts[k], kTrials);
    held += *one.low <= rates[k] && rates[k] <= *one.high;
    if (counts[k] < 7) continue;
    ++most;
    truth += rates[k];
    shrunken += *one.value;
  }
  EXPECT_NEAR(held / kThings, 0.95, 0.01);
  EXPECT_NEAR(shrunken / most, truth / most, 0.01);
}

TEST(ShrinkageTest, ValuesAreKeptByAsMuchAsTheyAreKnown) {
  // Deviations from the mean, 0: 1, -1; without a replicate they move by 0.1, 0.2 and 0.
  const std::vector<double> values = {1, -1};
  const std::vector<std::vector<double>> without = {{1.1, -1.1}, {0.8, -0.8}, {1, -1}};
  const double variance = (0.01 + 0.04) * 2 / 3;
  const double between = 2 - 2 * variance;  // What they spread, less what chance makes.

  const std::vector<double> shrunken = ShrunkenToMean(values, without);

  EXPECT_NEAR(shrunken[0], between / (between + variance), 1e-12);
  EXPECT_NEAR(shrunken[1], -between / (between + variance), 1e-12);
}

TEST(ShrinkageTest, WhatIsNoMoreThanChanceIsAllOneValue) {
  const std::vector<double> values = {3, 5};
  const std::vector<std::vector<double>> without = {{9, -1}, {-1, 9}, {4, 4}};

  EXPECT_EQ(ShrunkenToMean(values, without), (std::vector<double>{4, 4}));
}

TEST(ShrinkageTest, WhatIsKnownExactlyStaysAndOneValueToo) {
  const std::vector<std::vector<double>> same(3, {3, 5, 10});
  const std::vector<std::vector<double>> alone(4, {7});

  EXPECT_EQ(ShrunkenToMean(std::vector<double>{3, 5, 10}, same), (std::vector<double>{3, 5, 10}));
  EXPECT_EQ(ShrunkenToMean(std::vector<double>{7}, alone), (std::vector<double>{7}));
}

}  // namespace
}  // namespace noisefloor::analysis
