#include "coordinator/analysis/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using ::testing::ElementsAre;

// Two sides of R replicates; B answers the first `moved` examples otherwise.
Sides TwoSides(Draws& draws, int64_t replicates, int64_t moved) {
  const int64_t examples = 40;
  Sides sides(2, PredictionMatrix(examples, 3));
  for (int64_t r = 0; r < replicates; ++r) {
    std::vector<int16_t> common;
    for (int64_t x = 0; x < examples; ++x) {
      common.push_back(static_cast<int16_t>(draws.Uniform() < 0.7 ? 0 : draws.Below(3)));
    }
    for (size_t h = 0; h < 2; ++h) {
      std::vector<int16_t> row = common;
      for (int64_t x = 0; x < examples; ++x) {
        int16_t& said = row[static_cast<size_t>(x)];
        if (draws.Uniform() < 0.1) said = static_cast<int16_t>(draws.Below(3));
        if (h == 1 && x < moved) said = 2;
      }
      EXPECT_TRUE(sides[h].AddAnswers(row).ok());
    }
  }
  return sides;
}

double SlowChurn(const PredictionMatrix& a, int64_t r, const PredictionMatrix& b, int64_t s) {
  double differing = 0;
  for (size_t x = 0; x < a.Row(r).size(); ++x) differing += a.Row(r)[x] != b.Row(s)[x];
  return differing;
}

// The sign-flip test as it is written down: T(e) = sum over r < s of e_r e_s h_rs with
// h_rs = d(a_r, b_s) + d(a_s, b_r) - d(a_r, a_s) - d(b_r, b_s), over all 2^R sign vectors.
double SlowSignFlips(const Sides& sides) {
  const PredictionMatrix& a = sides[0];
  const PredictionMatrix& b = sides[1];
  const int64_t n = a.members();
  std::vector<std::vector<double>> h(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t s = 0; s < n; ++s) {
      h[static_cast<size_t>(r)].push_back(SlowChurn(a, r, b, s) + SlowChurn(a, s, b, r) -
                                          SlowChurn(a, r, a, s) - SlowChurn(b, r, b, s));
    }
  }
  std::vector<double> statistics;
  for (uint64_t signs = 0; signs < uint64_t{1} << n; ++signs) {
    double t = 0;
    for (size_t r = 0; r < h.size(); ++r) {
      for (size_t s = r + 1; s < h.size(); ++s) {
        const bool flipped = ((signs >> r) & 1) != ((signs >> s) & 1);
        t += flipped ? -h[r][s] : h[r][s];
      }
    }
    statistics.push_back(t);
  }
  const double observed = statistics[0];
  const auto as_far = std::count_if(statistics.begin(), statistics.end(),
                                    [&](double t) { return t >= observed - 1e-9; });
  return static_cast<double>(as_far) / static_cast<double>(statistics.size());
}

// In how many answers each two members r * sides + side of a block differ.
using Differing = std::vector<std::vector<double>>;

Differing DifferingOf(const Sides& block) {
  const size_t sides = block.size();
  const size_t members = sides * static_cast<size_t>(block[0].members());
  Differing differing(members, std::vector<double>(members));
  for (size_t i = 0; i < members; ++i) {
    for (size_t j = 0; j < members; ++j) {
      differing[i][j] = SlowChurn(block[i % sides], static_cast<int64_t>(i / sides),
                                  block[j % sides], static_cast<int64_t>(j / sides));
    }
  }
  return differing;
}

// The churn across sides, when member m of block k is on side[k][m].
double SlowAcross(const std::vector<Differing>& blocks,
                  const std::vector<std::vector<size_t>>& side) {
  double across = 0;
  for (size_t k = 0; k < blocks.size(); ++k) {
    for (size_t i = 0; i < side[k].size(); ++i) {
      for (size_t j = 0; j < i; ++j) across += side[k][i] == side[k][j] ? 0 : blocks[k][i][j];
    }
  }
  return across;
}

// Every assignment of members to sides, all blocks together, that `allowed` lets be: the share
// whose churn across sides is at least the observed one.
template <typename Allowed>
double SlowExchanges(const std::vector<Sides>& blocks, const Allowed& allowed) {
  std::vector<std::vector<size_t>> side;
  size_t members = 0;
  const size_t sides = blocks[0].size();
  std::vector<Differing> differing;
  for (const Sides& block : blocks) {
    differing.push_back(DifferingOf(block));
    side.emplace_back();
    for (size_t m = 0; m < sides * static_cast<size_t>(block[0].members()); ++m) {
      side.back().push_back(m % sides);
      ++members;
    }
  }
  const double observed = SlowAcross(differing, side);
  int64_t all = 0;
  int64_t as_far = 0;
  uint64_t count = 1;
  for (size_t m = 0; m < members; ++m) count *= sides;
  for (uint64_t code = 0; code < count; ++code) {
    uint64_t left = code;
    for (auto& of_block : side) {
      for (size_t& s : of_block) {
        s = left % sides;
        left /= sides;
      }
    }
    if (!allowed(side)) continue;
    ++all;
    as_far += SlowAcross(differing, side) >= observed - 1e-9;
  }
  return static_cast<double>(as_far) / static_cast<double>(all);
}

// Each replicate has one member on each side.
bool OneOfEach(const std::vector<std::vector<size_t>>& side, size_t sides) {
  return std::ranges::all_of(side, [&](const std::vector<size_t>& block) {
    for (size_t first = 0; first < block.size(); first += sides) {
      const std::set<size_t> used(block.begin() + static_cast<int64_t>(first),
                                  block.begin() + static_cast<int64_t>(first + sides));
      if (used.size() != sides) return false;
    }
    return true;
  });
}

// Each side has as many members as any other.
bool Balanced(const std::vector<std::vector<size_t>>& side, size_t sides) {
  return std::ranges::all_of(side, [&](const std::vector<size_t>& block) {
    for (size_t s = 0; s < sides; ++s) {
      if (static_cast<size_t>(std::ranges::count(block, s)) * sides != block.size()) return false;
    }
    return true;
  });
}

TEST(ShiftTestTest, IsTheSignFlipTestOfTheExcessForTwoSides) {
  Draws draws(31);
  for (int64_t replicates = 1; replicates <= 8; ++replicates) {
    for (const int64_t moved : {0, 1, 6}) {
      const Sides sides = TwoSides(draws, replicates, moved);

      const ShiftTest test = TestShift(std::vector<Sides>{sides}, Exchange::kWithinReplicates);

      EXPECT_NEAR(test.p, SlowSignFlips(sides), 1e-12) << replicates << " " << moved;
      EXPECT_TRUE(test.all);
      EXPECT_EQ(test.arrangements, int64_t{1} << (replicates - 1));
    }
  }
}

TEST(ShiftTestTest, ExchangesThreeSidesWithinTheirReplicates) {
  Draws draws(32);
  for (int trial = 0; trial < 6; ++trial) {
    Sides sides = TwoSides(draws, 3, trial);
    sides.push_back(TwoSides(draws, 3, 0)[0]);

    const ShiftTest test = TestShift(std::vector<Sides>{sides}, Exchange::kWithinReplicates);

    EXPECT_NEAR(test.p, SlowExchanges({sides}, [](auto& s) { return OneOfEach(s, 3); }), 1e-12);
    EXPECT_EQ(test.arrangements, 36);
  }
}

TEST(ShiftTestTest, ExchangesAllMembersWhereTheirLanesAreFixed) {
  Draws draws(33);
  const auto balanced = [](auto& s) { return Balanced(s, 2); };
  for (const int64_t moved : {0, 2, 9}) {
    const Sides sides = TwoSides(draws, 5, moved);
    const ShiftTest test = TestShift(std::vector<Sides>{sides}, Exchange::kAcrossReplicates);
    EXPECT_NEAR(test.p, SlowExchanges({sides}, balanced), 1e-12);
    EXPECT_EQ(test.arrangements, 126);  // C(10, 5) / 2
  }
  Sides three = TwoSides(draws, 2, 9);
  three.push_back(TwoSides(draws, 2, 0)[0]);
  const ShiftTest test = TestShift(std::vector<Sides>{three}, Exchange::kAcrossReplicates);
  EXPECT_NEAR(test.p, SlowExchanges({three}, [](auto& s) { return Balanced(s, 3); }), 1e-12);
  EXPECT_EQ(test.arrangements, 15);  // 6! / (2!^3 3!)
}

TEST(ShiftTestTest, SumsOverBlocksAndExchangesInsideEach) {
  Draws draws(34);
  for (const int64_t moved : {0, 3, 20}) {
    const std::vector<Sides> blocks = {TwoSides(draws, 2, moved), TwoSides(draws, 2, moved),
                                       TwoSides(draws, 3, moved)};
    const ShiftTest across = TestShift(blocks, Exchange::kAcrossReplicates);
    const ShiftTest within = TestShift(blocks, Exchange::kWithinReplicates);

    EXPECT_NEAR(across.p, SlowExchanges(blocks, [](auto& s) { return Balanced(s, 2); }), 1e-12);
    EXPECT_EQ(across.arrangements, 3 * 3 * 10);
    EXPECT_NEAR(within.p, SlowExchanges(blocks, [](auto& s) { return OneOfEach(s, 2); }), 1e-12);
    EXPECT_EQ(within.arrangements, 2 * 2 * 4);
  }
}

TEST(ShiftTestTest, BeyondSixteenReplicatesArrangementsAreDrawnAlwaysTheSame) {
  Draws draws(35);
  const std::vector<Sides> sixteen = {TwoSides(draws, 16, 1)};
  EXPECT_TRUE(TestShift(sixteen, Exchange::kWithinReplicates).all);
  EXPECT_EQ(TestShift(sixteen, Exchange::kWithinReplicates).arrangements, kMostArrangements);

  const std::vector<Sides> seventeen = {TwoSides(draws, 17, 0)};
  const ShiftTest drawn = TestShift(seventeen, Exchange::kWithinReplicates);
  const double exact = SlowSignFlips(seventeen[0]);

  EXPECT_FALSE(drawn.all);
  EXPECT_EQ(drawn.arrangements, 10000);
  EXPECT_GT(exact, 0.02);
  EXPECT_LT(exact, 0.98);
  EXPECT_NEAR(drawn.p, exact, 4 * std::sqrt(exact * (1 - exact) / 10000));
  EXPECT_EQ(drawn.p, TestShift(seventeen, Exchange::kWithinReplicates).p);
}

TEST(ShiftTestTest, DrawnExchangesOfAllMembersAreUniformToo) {
  Draws draws(36);
  const Sides nine = TwoSides(draws, 9, 1);  // C(18, 9) / 2 = 24,310: all are looked at.
  const double exact = TestShift(std::vector<Sides>{nine}, Exchange::kAcrossReplicates).p;
  // A second block without noise adds nothing to any arrangement, but makes ten times as many of
  // them: more than are looked at one by one.
  const Sides quiet(2, AnswersFrom({{0, 1}, {0, 1}, {0, 1}}, 2));
  const ShiftTest drawn = TestShift(std::vector<Sides>{nine, quiet}, Exchange::kAcrossReplicates);

  EXPECT_FALSE(drawn.all);
  EXPECT_GT(exact, 0.005);
  EXPECT_NEAR(drawn.p, exact, 4 * std::sqrt(exact * (1 - exact) / 10000));
}

TEST(ShiftTestTest, NothingToExchangeGivesOne) {
  Draws draws(37);
  EXPECT_EQ(TestShift(std::vector<Sides>{TwoSides(draws, 1, 20)}, Exchange::kAcrossReplicates).p,
            1);
  EXPECT_EQ(TestShift({}, Exchange::kWithinReplicates).p, 1);
  // Bits that are equal on both sides are as far apart in any arrangement.
  const Sides equal(2, AnswersFrom({{0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, 2));
  EXPECT_EQ(TestShift(std::vector<Sides>{equal}, Exchange::kAcrossReplicates).p, 1);
}

TEST(LeastPTest, SaysWhatSoManyReplicatesCanShow) {
  const auto least = [](int64_t sides, std::vector<int64_t> replicates, Exchange exchange) {
    return LeastP(sides, replicates, exchange);
  };
  EXPECT_DOUBLE_EQ(least(2, {5}, Exchange::kWithinReplicates), 1.0 / 16);
  EXPECT_DOUBLE_EQ(least(2, {6}, Exchange::kWithinReplicates), 1.0 / 32);
  EXPECT_DOUBLE_EQ(least(3, {5}, Exchange::kWithinReplicates), 1.0 / 1296);
  EXPECT_DOUBLE_EQ(least(2, {5}, Exchange::kAcrossReplicates), 1.0 / 126);
  EXPECT_DOUBLE_EQ(least(2, {2, 2, 2}, Exchange::kAcrossReplicates), 1.0 / 27);
  EXPECT_DOUBLE_EQ(least(3, {2, 2, 2}, Exchange::kAcrossReplicates), 1.0 / 3375);
  EXPECT_DOUBLE_EQ(least(2, {40}, Exchange::kWithinReplicates), 1e-4);
  EXPECT_DOUBLE_EQ(least(2, {1}, Exchange::kAcrossReplicates), 1);
  EXPECT_DOUBLE_EQ(least(2, {0}, Exchange::kAcrossReplicates), 1);
}

TEST(LeastPTest, ReplicatesThatATestNeeds) {
  EXPECT_EQ(ReplicatesFor(0.05, 2, 1, Exchange::kWithinReplicates), 6);
  EXPECT_EQ(ReplicatesFor(0.05 / 2, 2, 1, Exchange::kWithinReplicates), 7);
  EXPECT_EQ(ReplicatesFor(0.05 / 9, 2, 1, Exchange::kWithinReplicates), 9);
  EXPECT_EQ(ReplicatesFor(0.05, 3, 1, Exchange::kWithinReplicates), 3);
  EXPECT_EQ(ReplicatesFor(0.05, 2, 1, Exchange::kAcrossReplicates), 4);  // C(8, 4) / 2 = 35
  EXPECT_EQ(ReplicatesFor(0.05, 2, 3, Exchange::kAcrossReplicates), 2);
  // 500 tests can be corrected for, with 2^14 and more sign flips; 501 cannot.
  EXPECT_EQ(ReplicatesFor(0.05 / 500, 2, 1, Exchange::kWithinReplicates), 15);
  EXPECT_FALSE(ReplicatesFor(0.05 / 501, 2, 1, Exchange::kWithinReplicates).has_value());
}

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

TEST(MayBeLargestTest, BelowThreeReplicatesNothingIsToldApart) {
  const std::vector<double> values = {0.9, 0.1};
  EXPECT_THAT(MayBeLargest(values, {}), ElementsAre(0, 1));
  EXPECT_THAT(MayBeLargest(values, std::vector<std::vector<double>>(2, values)), ElementsAre(0, 1));
  // Nor where leaving out any one changes nothing: there is no measure of how sure that is.
  EXPECT_THAT(MayBeLargest(values, std::vector<std::vector<double>>(4, values)), ElementsAre(0, 1));
}

}  // namespace
}  // namespace noisefloor::analysis
