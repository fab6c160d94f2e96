#include "coordinator/analysis/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/analysis/interval.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::ElementsAre;

TEST(CanBeClaimedTest, LeavesOutWhatNoDataCouldShow) {
  const auto can = [](std::vector<double> least) { return CanBeClaimed(least, 0.05); };
  EXPECT_THAT(can({1.0 / 32}), ElementsAre(true));
  EXPECT_THAT(can({1.0 / 16}), ElementsAre(false));
  // Two tests of six replicates: neither can be below 5 % / 2. Of seven: both can.
  EXPECT_THAT(can({1.0 / 32, 1.0 / 32}), ElementsAre(false, false));
  EXPECT_THAT(can({1.0 / 64, 1.0 / 64}), ElementsAre(true, true));
  // One of six and two of five: the first stands alone.
  EXPECT_THAT(can({1.0 / 16, 1.0 / 32, 1.0 / 16}), ElementsAre(false, true, false));
  // Three could be claimed at 5 %, one of them at 5 % / 2: it is the family.
  EXPECT_THAT(can({0.04, 0.001, 0.04}), ElementsAre(false, true, false));
  EXPECT_THAT(can({}), ElementsAre());
}

TEST(HolmTest, AdjustsAsRDoes) {
  // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") and p.adjust(c(0.6, 0.6), "holm") of R.
  const auto adjusted = Holm(std::vector<std::optional<double>>{0.01, 0.04, {}, 0.03, 0.005});
  EXPECT_DOUBLE_EQ(*adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(*adjusted[1], 0.06);
  EXPECT_FALSE(adjusted[2].has_value());
  EXPECT_DOUBLE_EQ(*adjusted[3], 0.06);
  EXPECT_DOUBLE_EQ(*adjusted[4], 0.02);
  EXPECT_DOUBLE_EQ(*Holm(std::vector<std::optional<double>>{0.6, 0.6})[0], 1);
}

TEST(HolmTest, AWeightIsAShareOfTheLevelThatIsPassedOn) {
  // By p / weight: 0.02 (of 2 + 1 + 1), 0.03 (of 1 + 1), 0.045 (of 1).
  const std::vector<std::optional<double>> p = {0.03, 0.04, {}, 0.045};
  const auto adjusted = Holm(p, std::vector<double>{1, 2, 5, 1});
  EXPECT_DOUBLE_EQ(*adjusted[1], 0.08);
  EXPECT_DOUBLE_EQ(*adjusted[0], 0.08) << "0.06, but none is below one that is claimed before it";
  EXPECT_FALSE(adjusted[2].has_value());
  EXPECT_DOUBLE_EQ(*adjusted[3], 0.08);
  const auto passed_on =
      Holm(std::vector<std::optional<double>>{0.001, 0.045}, std::vector<double>{0.5, 0.5});
  EXPECT_DOUBLE_EQ(*passed_on[1], 0.045) << "all of the level, once the first is claimed";
}

// The least number of tests that may be claimed, by trying each.
TEST(CanBeClaimedTest, EqualsItsSlowTwin) {
  Draws draws(19);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> least(static_cast<size_t>(draws.Below(30)));
    for (double& p : least) p = std::ldexp(1.0, -static_cast<int>(draws.Below(12)));
    std::vector<bool> slow(least.size());
    for (size_t k = 1; k <= least.size(); ++k) {
      size_t count = 0;
      for (size_t i = 0; i < least.size(); ++i) {
        slow[i] = least[i] <= 0.05 / static_cast<double>(k);
        count += slow[i];
      }
      if (count <= k) break;
    }
    EXPECT_EQ(CanBeClaimed(least, 0.05), slow);
  }
}

TEST(CanBeClaimedTest, ALowerLevelWantsMore) {
  EXPECT_TRUE(CanBeClaimed(std::vector<double>{1.0 / 32}, 0.05)[0]);
  EXPECT_FALSE(CanBeClaimed(std::vector<double>{1.0 / 32}, 0.025)[0]);
}

TEST(MayBeLargestTest, DropsOnlyWhatAnotherIsSurelyAbove) {
  // Differences from the first: 0.5 with standard error sqrt(3/4 * 4 * 0.01^2) = 0.0173, and 0.01
  // with the same. t(3) at 1 - 0.05/2 is 3.182: 0.055 is needed.
  const std::vector<double> values = {0.6, 0.1, 0.59};
  const std::vector<std::vector<double>> without = {
      {0.61, 0.1, 0.59}, {0.59, 0.1, 0.59}, {0.61, 0.1, 0.59}, {0.59, 0.1, 0.59}};

  EXPECT_THAT(MayBeLargest(values, without), ElementsAre(0, 2));

  // At the edge: 3.18245 * 0.0173205 = 0.0551216.
  EXPECT_THAT(MayBeLargest(std::vector<double>{0.6, 0.1, 0.6 - 0.0551}, without),
              ::testing::SizeIs(2));
}

TEST(MayBeLargestTest, TheEdgeIsStudentsAtTheLevelOfTheRivals) {
  // Two values: t(3) at 0.95 is 2.353363, three: t(3) at 0.975 is 3.182446. Leaving out replicate
  // i changes the difference by +-0.01, so that its standard error is 0.01 * sqrt(3).
  const double two = 2.353363 * 0.01 * std::sqrt(3.0);
  const double three = 3.182446 * 0.01 * std::sqrt(3.0);
  const auto kept = [](double difference, size_t count) {
    std::vector<double> values(count, 0);
    values[0] = difference;
    std::vector<std::vector<double>> without(4, values);
    for (size_t i = 0; i < 4; ++i) without[i][0] += i % 2 == 0 ? 0.01 : -0.01;
    return MayBeLargest(values, without).size();
  };
  EXPECT_EQ(kept(two * 1.00001, 2), 1u);
  EXPECT_EQ(kept(two * 0.99999, 2), 2u);
  EXPECT_EQ(kept(three * 1.00001, 3), 1u);
  EXPECT_EQ(kept(three * 0.99999, 3), 3u);
}

// Every two against each other, in any order.
TEST(MayBeLargestTest, AgreesWithThePlainLoopOnRandomInputs) {
  Draws draws(91);
  for (int trial = 0; trial < 200; ++trial) {
    const auto classes = static_cast<size_t>(2 + draws.Below(12));
    const auto n = static_cast<size_t>(3 + draws.Below(6));
    std::vector<double> values;
    for (size_t c = 0; c < classes; ++c) {
      values.push_back(draws.Below(4) == 0 ? 0.5 : draws.Uniform());  // Some are equal.
    }
    std::vector<std::vector<double>> without(n, values);
    for (std::vector<double>& left : without) {
      for (double& value : left) value += 0.05 * draws.Normal();
    }
    const double critical =
        TQuantile(static_cast<double>(n - 1), 1 - kLevel / static_cast<double>(classes - 1));
    std::vector<size_t> plain;
    for (size_t c = 0; c < classes; ++c) {
      bool beaten = false;
      for (size_t d = 0; d < classes; ++d) {
        double squares = 0;
        for (const std::vector<double>& left : without) {
          const double deviation = left[d] - left[c] - (values[d] - values[c]);
          squares += deviation * deviation;
        }
        const double error =
            std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
        beaten = beaten || (d != c && values[d] - values[c] > critical * error && error > 0);
      }
      if (!beaten) plain.push_back(c);
    }
    EXPECT_EQ(MayBeLargest(values, without), plain);
  }
}

TEST(MayBeLargestTest, BelowThreeReplicatesNothingIsToldApart) {
  const std::vector<double> values = {0.9, 0.1};
  EXPECT_THAT(MayBeLargest(values, {}), ElementsAre(0, 1));
  EXPECT_THAT(MayBeLargest(values, std::vector<std::vector<double>>(2, values)), ElementsAre(0, 1));
  // Nor where leaving out any one changes nothing: there is no measure of how sure that is.
  EXPECT_THAT(MayBeLargest(values, std::vector<std::vector<double>>(4, values)), ElementsAre(0, 1));
}

}  // namespace
}  // namespace noisefloor::analysis
