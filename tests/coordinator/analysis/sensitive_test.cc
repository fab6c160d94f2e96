#include "coordinator/analysis/sensitive.h"

#include <cmath>
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
  const FlipsAbout first = MostFlipsAbout(a, b, 0);
  EXPECT_EQ(first.label, 2);
  EXPECT_EQ(first.flips, 5);
  EXPECT_EQ(first.from_a, 4);
  EXPECT_EQ(MostFlipsAbout(a, b, 1).label, -1);
  EXPECT_EQ(MostFlipsAbout(a, b, 2).label, 0);
  EXPECT_EQ(MostFlipsAbout(a, b, 2).from_a, 0);
}

TEST(SensitiveTest, TwoUndefinedAnswersFlipAndGoAboutNothing) {
  const PredictionMatrix undefined = AnswersFrom({{-1}, {-1}}, 2);

  EXPECT_EQ(FlipsByExample(undefined, undefined), (std::vector<int64_t>{2}));
  EXPECT_EQ(MostFlipsAbout(undefined, undefined, 0).flips, 0);
  EXPECT_DOUBLE_EQ(SignTestP(MostFlipsAbout(undefined, undefined, 0)), 1);
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
  // Of ten draws: example 0 flips nine times, always to 1; example 1 twice; example 2 ten times,
  // half of them each way; example 3 never; example 4 six times to 1, too few among three.
  PredictionMatrix a(5, 2);
  PredictionMatrix b(5, 2);
  for (int16_t r = 0; r < 10; ++r) {
    const auto half = static_cast<int16_t>(r % 2);
    ASSERT_TRUE(a.AddAnswers(std::vector<int16_t>{0, 0, half, 1, 0}).ok());
    ASSERT_TRUE(b.AddAnswers(std::vector<int16_t>{static_cast<int16_t>(r < 9 ? 1 : 0),
                                                  static_cast<int16_t>(r < 2 ? 1 : 0),
                                                  static_cast<int16_t>(1 - half), 1,
                                                  static_cast<int16_t>(r < 6 ? 1 : 0)})
                    .ok());
  }

  const auto tests = TestExamples(a, b, FlipsByExample(a, b), 0.05);

  ASSERT_TRUE(tests[0].has_value());
  EXPECT_NEAR(tests[0]->p, 2 * std::pow(0.5, 9), 1e-12);
  EXPECT_NEAR(tests[0]->p_fdr, 2 * tests[0]->p, 1e-12);  // Of two tests.
  EXPECT_FALSE(tests[1].has_value());
  EXPECT_DOUBLE_EQ(tests[2]->p_fdr, 1);
  EXPECT_FALSE(tests[3].has_value());
  EXPECT_FALSE(tests[4].has_value());  // 1/32 is above 5 % of two, whatever it is.
}

// Of 400 examples 40 follow the side; the others flip as seeds will. Over many studies the share of
// false ones among those that are found is below the level, and most of the true ones are found.
TEST(SensitiveTest, PlantedExamplesAreFoundAndFewOthers) {
  Draws draws(400);
  constexpr int kStudies = 40;
  constexpr int64_t kMembers = 16;
  double false_share = 0;
  double found_true = 0;
  for (int study = 0; study < kStudies; ++study) {
    PredictionMatrix a(400, 3);
    PredictionMatrix b(400, 3);
    for (int64_t r = 0; r < kMembers; ++r) {
      std::vector<int16_t> on_a;
      std::vector<int16_t> on_b;
      for (int x = 0; x < 400; ++x) {
        const auto noisy = [&] { return static_cast<int16_t>(draws.Below(3)); };
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
