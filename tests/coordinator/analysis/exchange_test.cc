#include "coordinator/analysis/exchange.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

using Block = std::vector<PredictionMatrix>;  // The sides.

// Two sides of R replicates; B answers the first `moved` examples otherwise.
Block TwoSides(Draws& draws, int64_t replicates, int64_t moved) {
  const int64_t examples = 40;
  Block sides(2, PredictionMatrix(examples, 3));
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

double SlowChurnBetween(const PredictionMatrix& a, int64_t r, const PredictionMatrix& b,
                        int64_t s) {
  double differing = 0;
  for (size_t x = 0; x < a.Row(r).size(); ++x) differing += a.Row(r)[x] != b.Row(s)[x];
  return differing;
}

// The sign-flip test as it is written down: T(e) = sum over r < s of e_r e_s h_rs with
// h_rs = d(a_r, b_s) + d(a_s, b_r) - d(a_r, a_s) - d(b_r, b_s), over all 2^R sign vectors.
double SlowSignFlips(const Block& sides) {
  const PredictionMatrix& a = sides[0];
  const PredictionMatrix& b = sides[1];
  const int64_t n = a.members();
  std::vector<std::vector<double>> h(static_cast<size_t>(n));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t s = 0; s < n; ++s) {
      h[static_cast<size_t>(r)].push_back(
          SlowChurnBetween(a, r, b, s) + SlowChurnBetween(a, s, b, r) -
          SlowChurnBetween(a, r, a, s) - SlowChurnBetween(b, r, b, s));
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

Differing DifferingOf(const Block& block) {
  const size_t sides = block.size();
  const size_t members = sides * static_cast<size_t>(block[0].members());
  Differing differing(members, std::vector<double>(members));
  for (size_t i = 0; i < members; ++i) {
    for (size_t j = 0; j < members; ++j) {
      differing[i][j] = SlowChurnBetween(block[i % sides], static_cast<int64_t>(i / sides),
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
double SlowExchanges(const std::vector<Block>& blocks, const Allowed& allowed) {
  std::vector<std::vector<size_t>> side;
  size_t members = 0;
  const size_t sides = blocks[0].size();
  std::vector<Differing> differing;
  for (const Block& block : blocks) {
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
      const Block sides = TwoSides(draws, replicates, moved);

      const ShiftTest test = TestShiftOf(std::vector<Block>{sides}, Exchange::kWithinReplicates);

      EXPECT_NEAR(test.p, SlowSignFlips(sides), 1e-12) << replicates << " " << moved;
      EXPECT_TRUE(test.all);
      EXPECT_EQ(test.arrangements, int64_t{1} << (replicates - 1));
    }
  }
}

TEST(ShiftTestTest, ExchangesThreeSidesWithinTheirReplicates) {
  Draws draws(32);
  for (int trial = 0; trial < 6; ++trial) {
    Block sides = TwoSides(draws, 3, trial);
    sides.push_back(TwoSides(draws, 3, 0)[0]);

    const ShiftTest test = TestShiftOf(std::vector<Block>{sides}, Exchange::kWithinReplicates);

    EXPECT_NEAR(test.p, SlowExchanges({sides}, [](auto& s) { return OneOfEach(s, 3); }), 1e-12);
    EXPECT_EQ(test.arrangements, 36);
  }
}

TEST(ShiftTestTest, ExchangesAllMembersWhereTheirLanesAreFixed) {
  Draws draws(33);
  const auto balanced = [](auto& s) { return Balanced(s, 2); };
  for (const int64_t moved : {0, 2, 9}) {
    const Block sides = TwoSides(draws, 5, moved);
    const ShiftTest test = TestShiftOf(std::vector<Block>{sides}, Exchange::kAcrossReplicates);
    EXPECT_NEAR(test.p, SlowExchanges({sides}, balanced), 1e-12);
    EXPECT_EQ(test.arrangements, 126);  // C(10, 5) / 2
  }
  Block three = TwoSides(draws, 2, 9);
  three.push_back(TwoSides(draws, 2, 0)[0]);
  const ShiftTest test = TestShiftOf(std::vector<Block>{three}, Exchange::kAcrossReplicates);
  EXPECT_NEAR(test.p, SlowExchanges({three}, [](auto& s) { return Balanced(s, 3); }), 1e-12);
  EXPECT_EQ(test.arrangements, 15);  // 6! / (2!^3 3!)
}

TEST(ShiftTestTest, SumsOverBlocksAndExchangesInsideEach) {
  Draws draws(34);
  for (const int64_t moved : {0, 3, 20}) {
    const std::vector<Block> blocks = {TwoSides(draws, 2, moved), TwoSides(draws, 2, moved),
                                       TwoSides(draws, 3, moved)};
    const ShiftTest across = TestShiftOf(blocks, Exchange::kAcrossReplicates);
    const ShiftTest within = TestShiftOf(blocks, Exchange::kWithinReplicates);

    EXPECT_NEAR(across.p, SlowExchanges(blocks, [](auto& s) { return Balanced(s, 2); }), 1e-12);
    EXPECT_EQ(across.arrangements, 3 * 3 * 10);
    EXPECT_NEAR(within.p, SlowExchanges(blocks, [](auto& s) { return OneOfEach(s, 2); }), 1e-12);
    EXPECT_EQ(within.arrangements, 2 * 2 * 4);
  }
}

TEST(ShiftTestTest, BeyondSixteenReplicatesAGroupOfRotationsIsLookedAt) {
  Draws draws(35);
  const std::vector<Block> sixteen = {TwoSides(draws, 16, 1)};
  EXPECT_TRUE(TestShiftOf(sixteen, Exchange::kWithinReplicates).all);
  EXPECT_EQ(TestShiftOf(sixteen, Exchange::kWithinReplicates).arrangements, kMostArrangements);

  const std::vector<Block> seventeen = {TwoSides(draws, 17, 0)};
  const ShiftTest rotated = TestShiftOf(seventeen, Exchange::kWithinReplicates);
  const double exact = SlowSignFlips(seventeen[0]);

  EXPECT_FALSE(rotated.all);
  EXPECT_EQ(rotated.arrangements, 32768);
  EXPECT_GT(exact, 0.02);
  EXPECT_LT(exact, 0.98);
  EXPECT_NEAR(rotated.p, exact, 4 * std::sqrt(exact * (1 - exact) / 32768));
  EXPECT_EQ(rotated.p, TestShiftOf(seventeen, Exchange::kWithinReplicates).p);
  // Where any member may be on any side these are exchanges, too.
  EXPECT_EQ(TestShiftOf(seventeen, Exchange::kAcrossReplicates).p, rotated.p);
}

// Groups of every kind that are not all exchanges.
struct Group {
  size_t sides;
  int64_t replicates;
  Exchange exchange;
  int64_t arrangements;
};

class GroupTest : public ::testing::TestWithParam<Group> {
 protected:
  // Members of their own on each side: all draw alike, or each side has answers of its own.
  static Block Draw(Draws& draws, bool alike) {
    Block sides;
    for (size_t h = 0; h < GetParam().sides; ++h) {
      PredictionMatrix& side = sides.emplace_back(40, 3);
      for (int64_t r = 0; r < GetParam().replicates; ++r) {
        std::vector<int16_t> row;
        for (size_t x = 0; x < 40; ++x) {
          const auto own = static_cast<int16_t>(alike ? 0 : ((h + 1) * (x + 3) * (x + h)) / 7 % 3);
          row.push_back(draws.Uniform() < 0.2 ? static_cast<int16_t>(draws.Below(3)) : own);
        }
        EXPECT_TRUE(side.AddAnswers(row).ok());
      }
    }
    return sides;
  }
};

// The least p where the sides answer otherwise; where they do not, p is as often small as it may be
// and not much less often: the group has enough exchanges, and each of them once.
TEST_P(GroupTest, IsExactAndSeesWhatIsThere) {
  Draws draws(39);
  const ShiftTest far = TestShiftOf(std::vector<Block>{Draw(draws, false)}, GetParam().exchange);
  EXPECT_FALSE(far.all);
  EXPECT_EQ(far.arrangements, GetParam().arrangements);
  EXPECT_DOUBLE_EQ(far.p, 1.0 / static_cast<double>(GetParam().arrangements));
  EXPECT_DOUBLE_EQ(LeastP(static_cast<int64_t>(GetParam().sides),
                          std::vector<int64_t>{GetParam().replicates}, GetParam().exchange),
                   far.p);

  int small = 0;
  constexpr int kStudies = 60;
  for (int study = 0; study < kStudies; ++study) {
    small += TestShiftOf(std::vector<Block>{Draw(draws, true)}, GetParam().exchange).p <= 0.25;
  }
  const double sd = std::sqrt(0.25 * 0.75 * kStudies);
  EXPECT_LE(small, 0.25 * kStudies + 3.5 * sd);
  EXPECT_GE(small, 0.25 * kStudies - 3.5 * sd);
}

constexpr Exchange kWithin = Exchange::kWithinReplicates;
constexpr Exchange kAcross = Exchange::kAcrossReplicates;
INSTANTIATE_TEST_SUITE_P(Groups, GroupTest,
                         ::testing::Values(Group{2, 17, kWithin, 32768},  // Rotations.
                                           Group{2, 16, kAcross, 32768},
                                           Group{3, 12, kAcross, 59049},
                                           Group{2, 11, kAcross, 24000},  // Runs of 2, 3, 3 and 3.
                                           Group{3, 7, kWithin, 23328},   // 6^5 3: mixed.
                                           Group{3, 5, kAcross, 280 * 90},  // 2 and 3.
                                           Group{4, 9, kWithin, 65536},
                                           Group{40, 5, kWithin, 1600}));  // 40^2: two move.

TEST(ShiftTestTest, NothingToExchangeGivesOne) {
  Draws draws(37);
  EXPECT_EQ(TestShiftOf(std::vector<Block>{TwoSides(draws, 1, 20)}, Exchange::kAcrossReplicates).p,
            1);
  EXPECT_EQ(TestShiftOf({}, Exchange::kWithinReplicates).p, 1);
  // Bits that are equal on both sides are as far apart in any arrangement.
  const Block equal(2, AnswersFrom({{0, 1, 1}, {1, 0, 1}, {1, 1, 1}}, 2));
  EXPECT_EQ(TestShiftOf(std::vector<Block>{equal}, Exchange::kAcrossReplicates).p, 1);
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
  EXPECT_DOUBLE_EQ(least(2, {16}, Exchange::kWithinReplicates), 1.0 / 32768);
  EXPECT_DOUBLE_EQ(least(2, {17}, Exchange::kWithinReplicates), 1.0 / 32768);
  EXPECT_DOUBLE_EQ(least(2, {10}, Exchange::kAcrossReplicates), 1.0 / (126 * 252));
  EXPECT_DOUBLE_EQ(least(3, {7}, Exchange::kWithinReplicates), 1.0 / 23328);
  EXPECT_DOUBLE_EQ(least(3, {3, 3, 4}, Exchange::kWithinReplicates), 1.0 / 17496);
  EXPECT_DOUBLE_EQ(least(3, {11}, Exchange::kWithinReplicates), 1.0 / 59049);
  EXPECT_DOUBLE_EQ(least(2, {8, 8, 0, 8}, Exchange::kAcrossReplicates), 1.0 / 32768);
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
  // 1,638 tests can be corrected for, with 2^15 sign flips; 1,639 cannot.
  EXPECT_EQ(ReplicatesFor(0.05 / 1638, 2, 1, Exchange::kWithinReplicates), 16);
  EXPECT_FALSE(ReplicatesFor(0.05 / 1639, 2, 1, Exchange::kWithinReplicates).has_value());
}

}  // namespace
}  // namespace noisefloor::analysis
