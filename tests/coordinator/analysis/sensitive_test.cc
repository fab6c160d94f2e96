#include "coordinator/analysis/sensitive.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

TEST(SensitiveTest, FlipsAreCountedAboutTheClassThatMostOfThemConcern) {
  // Example 0: A says 2 four times where B says 0 or 1; the other way once. Example 1: none.
  // Example 2: an undefined answer is a flip that goes about the defined one.
  const PredictionMatrix a =
      AnswersFrom({{2, 1, 0}, {2, 1, -1}, {2, 1, 0}, {2, 1, 0}, {0, 1, 0}}, 3);
  const PredictionMatrix b =
      AnswersFrom({{0, 1, 0}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}, {2, 1, 0}}, 3);

  EXPECT_EQ(FlipsByExample(a, b), (std::vector<int64_t>{5, 0, 1}));
  const std::vector<FlipsAbout> most = MostFlipsAbout(a, b, std::vector<int64_t>{0, 1, 2});
  EXPECT_EQ(most[0].label, 2);
  EXPECT_EQ(most[0].flips, 5);
  EXPECT_EQ(most[0].from_a, 4);
  EXPECT_EQ(most[1].label, -1);
  EXPECT_EQ(most[2].label, 0);
  EXPECT_EQ(most[2].from_a, 0);
}

TEST(SensitiveTest, OfClassesThatAsManyFlipsConcernItIsTheLowest) {
  const PredictionMatrix a = AnswersFrom({{2}, {2}}, 3);
  const PredictionMatrix b = AnswersFrom({{1}, {1}}, 3);

  const FlipsAbout most = MostFlipsAbout(a, b, std::vector<int64_t>{0})[0];

  EXPECT_EQ(most.label, 1);
  EXPECT_EQ(most.flips, 2);
  EXPECT_EQ(most.from_a, 0);
}

TEST(SensitiveTest, TwoUndefinedAnswersFlipAndGoAboutNothing) {
  const PredictionMatrix undefined = AnswersFrom({{-1}, {-1}}, 2);

  EXPECT_EQ(FlipsByExample(undefined, undefined), (std::vector<int64_t>{2}));
  const FlipsAbout most = MostFlipsAbout(undefined, undefined, std::vector<int64_t>{0})[0];
  EXPECT_EQ(most.flips, 0);
  EXPECT_DOUBLE_EQ(SignTestP(most), 1);
}

// scipy.stats.binomtest(k, n).pvalue
TEST(SensitiveTest, TheSignTestEqualsSciPy) {
  EXPECT_NEAR(SignTestP({1, 11, 2}), 0.0654296875, 1e-12);
  EXPECT_NEAR(SignTestP({1, 11, 9}), 0.0654296875, 1e-12);
  EXPECT_NEAR(SignTestP({0, 6, 0}), 0.03125, 1e-12);
  EXPECT_DOUBLE_EQ(SignTestP({0, 4, 2}), 1);
  EXPECT_DOUBLE_EQ(SignTestP({}), 1);
}

TEST(SensitiveTest, OnlyThoseThatFlipOftenEnoughToTellAreTested) {
  // Of ten draws: example 0 flips nine times, always to 1; example 1 five times, which is 1/16 at
  // the least; example 2 ten times, half of them each way; example 3 never; example 4 ten times,
  // about five classes, of which none is in more than four.
  const std::vector<int16_t> from = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
  const std::vector<int16_t> to = {1, 2, 3, 4, 0, 2, 3, 4, 0, 1};
  PredictionMatrix a(5, 5);
  PredictionMatrix b(5, 5);
  for (int16_t r = 0; r < 10; ++r) {
    const auto half = static_cast<int16_t>(r % 2);
    ASSERT_TRUE(a.AddAnswers(std::vector<int16_t>{0, 0, half, 1, from[r]}).ok());
    ASSERT_TRUE(b.AddAnswers(std::vector<int16_t>{static_cast<int16_t>(r < 9 ? 1 : 0),
                                                  static_cast<int16_t>(r < 5 ? 1 : 0),
                                                  static_cast<int16_t>(1 - half), 1, to[r]})
                    .ok());
  }

  const auto tests = TestExamples(a, b, FlipsByExample(a, b), 0.05);

  ASSERT_TRUE(tests[0].has_value());
  EXPECT_NEAR(tests[0]->p, 2 * std::pow(0.5, 9), 1e-12);
  EXPECT_LT(tests[0]->p_fdr, 0.05);
  EXPECT_FALSE(tests[1].has_value());
  ASSERT_TRUE(tests[2].has_value());
  EXPECT_DOUBLE_EQ(tests[2]->p_fdr, 1);
  EXPECT_FALSE(tests[3].has_value());
  EXPECT_FALSE(tests[4].has_value());
}

// Four of 17 is 0.0490, which alone could be claimed, and 0.0515 of what is left of 1: more than
// the level allows to be looked at.
TEST(SensitiveTest, BeyondTheLargestPThatTheLevelAllowsNothingIsFound) {
  EXPECT_NEAR(SignTestP({0, 17, 4}), 0.049041748046875, 1e-12);
  EXPECT_DOUBLE_EQ(AdjustForDiscoveries(std::vector<FlipsAbout>{{0, 17, 4}}, 0.05)[0], 1);
  EXPECT_LT(AdjustForDiscoveries(std::vector<FlipsAbout>{{0, 17, 3}}, 0.05)[0], 0.05);
}

// The definition, written out: the largest p of the support that the level allows, then for every
// number of rejections the largest p that is allowed for it.
std::vector<bool> SlowDiscoveries(const std::vector<FlipsAbout>& about, double level) {
  const auto m = static_cast<double>(about.size());
  std::map<int64_t, std::vector<double>> p_of;  // By flips.
  for (const FlipsAbout& one : about) {
    if (!p_of[one.flips].empty()) continue;
    for (int64_t fewer = 0; fewer <= one.flips; ++fewer) {
      p_of[one.flips].push_back(SignTestP({0, one.flips, fewer}));
    }
  }
  const auto largest_up_to = [&](int64_t flips, double t) {  // F_i
    double largest = 0;
    for (const double p : p_of.at(flips)) {
      if (p <= t) largest = std::max(largest, p);
    }
    return largest;
  };
  std::vector<double> support;
  for (const auto& [flips, p] : p_of) support.insert(support.end(), p.begin(), p.end());
  double last = 0;
  for (const double t : support) {
    double sum = 0;
    for (const FlipsAbout& one : about) {
      const double up_to = largest_up_to(one.flips, t);
      sum += up_to < 1 ? up_to / (1 - up_to) : HUGE_VAL;
    }
    if (sum / m <= level) last = std::max(last, t);
  }
  std::vector<double> p;
  for (const FlipsAbout& one : about) p.push_back(SignTestP(one));
  std::vector<double> sorted = p;
  std::sort(sorted.begin(), sorted.end());
  double threshold = -1;
  for (size_t k = 1; k <= sorted.size(); ++k) {
    double allowed = -1;
    for (const double t : support) {
      double sum = 0;
      for (const FlipsAbout& one : about) {
        sum += largest_up_to(one.flips, t) / (1 - largest_up_to(one.flips, last));
      }
      if (t <= last && sum / m <= level * static_cast<double>(k) / m) {
        allowed = std::max(allowed, t);
      }
    }
    if (sorted[k - 1] <= allowed) threshold = sorted[k - 1];
  }
  std::vector<bool> found;
  for (const double one : p) found.push_back(one <= threshold);
  return found;
}

TEST(SensitiveTest, DiscoveriesEqualTheirSlowTwin) {
  Draws draws(404);
  for (int round = 0; round < 60; ++round) {
    std::vector<FlipsAbout> about;
    const int64_t tests = 1 + draws.Below(25);
    for (int64_t k = 0; k < tests; ++k) {
      const int64_t flips = 6 + draws.Below(7);
      const bool follows = draws.Uniform() < 0.4;
      about.push_back({0, flips, follows ? 0 : draws.Below(flips + 1)});
    }
    const std::vector<double> adjusted = AdjustForDiscoveries(about, 0.05);
    const std::vector<bool> slow = SlowDiscoveries(about, 0.05);
    for (size_t k = 0; k < about.size(); ++k) {
      EXPECT_EQ(adjusted[k] <= 0.05, slow[k]) << round << ", " << about[k].flips << " flips, "
                                              << about[k].from_a << " from A: " << adjusted[k];
    }
  }
}

// However many follow the side, they are found: at ten draws, whose least p is 1/512.
TEST(SensitiveTest, ManyThatFollowAreFoundAsFewAre) {
  Draws draws(405);
  for (const size_t following : {10u, 26u, 60u, 300u}) {
    std::vector<FlipsAbout> about(following, {0, 10, 10});
    for (int k = 0; k < 1000; ++k) {
      int64_t flips = 0;
      int64_t from_a = 0;
      for (int draw = 0; draw < 10; ++draw) {
        const bool flipped = draws.Uniform() < 0.5;
        flips += flipped;
        from_a += flipped && draws.Uniform() < 0.5;
      }
      if (flips >= 6) about.push_back({0, flips, from_a});
    }

    const std::vector<double> adjusted = AdjustForDiscoveries(about, 0.05);

    for (size_t k = 0; k < following; ++k) EXPECT_LE(adjusted[k], 0.05) << following;
  }
}

// Of 400 examples 40 follow the side; the others flip as seeds will, a third of them together, for
// a seed moves many at once. Over many studies the share of false ones among those that are found
// is below the level, and most of the true ones are found.
TEST(SensitiveTest, PlantedExamplesAreFoundAndFewOthers) {
  Draws draws(400);
  constexpr int kStudies = 200;
  constexpr int64_t kMembers = 16;
  double false_share = 0;
  double found_true = 0;
  for (int study = 0; study < kStudies; ++study) {
    PredictionMatrix a(400, 3);
    PredictionMatrix b(400, 3);
    for (int64_t r = 0; r < kMembers; ++r) {
      std::vector<int16_t> on_a;
      std::vector<int16_t> on_b;
      const std::array<int64_t, 2> together = {draws.Below(3), draws.Below(3)};
      for (int x = 0; x < 400; ++x) {
        size_t side = 0;
        const auto noisy = [&] {
          return static_cast<int16_t>(x % 3 == 0 ? together[side++] : draws.Below(3));
        };
        const bool follows = x < 40 && draws.Uniform() < 0.95;
        on_a.push_back(follows ? int16_t{0} : noisy());
        on_b.push_back(follows ? int16_t{1} : noisy());
      }
      ASSERT_TRUE(a.AddAnswers(on_a).ok());
      ASSERT_TRUE(b.AddAnswers(on_b).ok());
    }
    const auto tests = TestExamples(a, b, FlipsByExample(a, b), 0.05);
    double found = 0;
    double wrong = 0;
    for (size_t x = 0; x < tests.size(); ++x) {
      if (!tests[x] || tests[x]->p_fdr > 0.05) continue;
      ++found;
      wrong += x >= 40;
    }
    found_true += (found - wrong) / (40 * kStudies);
    false_share += found > 0 ? wrong / found / kStudies : 0;
  }
  EXPECT_LT(false_share, 0.05);
  EXPECT_GT(found_true, 0.9);
}

}  // namespace
}  // namespace noisefloor::analysis
