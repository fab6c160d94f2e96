#include "coordinator/analysis/per_class.h"

#include <vector>

#include "gtest/gtest.h"

#include "coordinator/analysis/spread.h"
#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

TEST(PerClassTest, AgreesWithTheSlowTwinOnRandomInputs) {
  Draws draws(6);
  for (int trial = 0; trial < 40; ++trial) {
    const PredictionMatrix m = RandomAnswers(draws, 2 + draws.Below(5), 60, 4, trial % 2 == 0);
    std::vector<int32_t> labels;
    for (int x = 0; x < 60; ++x) labels.push_back(static_cast<int32_t>(draws.Below(4)));

    const std::vector<ClassNoise> noise = NoiseByClass(m, labels);

    ASSERT_EQ(noise.size(), 4u);
    for (int32_t k = 0; k < 4; ++k) {
      std::vector<double> accuracy;
      double differing = 0, pairs = 0;
      int64_t examples = 0;
      for (size_t x = 0; x < labels.size(); ++x) examples += labels[x] == k;
      for (int64_t i = 0; i < m.members(); ++i) {
        double right = 0;
        for (size_t x = 0; x < labels.size(); ++x) {
          if (labels[x] == k) right += m.Row(i)[x] == k;
          for (int64_t j = 0; j < i && labels[x] == k; ++j) {
            differing += Differ(m.Row(i)[x], m.Row(j)[x]);
            pairs += 1;
          }
        }
        accuracy.push_back(right / static_cast<double>(examples));
      }
      const ClassNoise& row = noise[static_cast<size_t>(k)];
      EXPECT_EQ(row.examples, examples);
      EXPECT_NEAR(*row.accuracy.value, MeanOf(accuracy), 1e-12);
      EXPECT_NEAR(*row.accuracy_sd.value, SdOf(accuracy), 1e-12);
      EXPECT_NEAR(*row.churn.value, differing / pairs, 1e-12);
    }
  }
}

// Known answers: three members, four decisions, two groups and one example in none.
TEST(PerGroupTest, GroupsHaveTheirOwnLabelsAndErrors) {
  PredictionMatrix m(5, 2);
  for (const std::vector<int16_t>& row : std::vector<std::vector<int16_t>>{
           {1, 0, 0, 1, 0}, {1, 1, 0, 1, 1}, {0, 1, 0, 1, kUndefined}}) {
    ASSERT_TRUE(m.AddAnswers(row).ok());
  }
  const std::vector<int32_t> labels = {0, 1, 1, 1, 0};
  const std::vector<int32_t> of_example = {0, 0, 1, 1, -1};
  const std::vector<ClassNoise> noise = NoiseByGroup(m, labels, {of_example, 3});
  ASSERT_EQ(noise.size(), 3u);
  EXPECT_EQ(noise[0].examples, 2);
  EXPECT_DOUBLE_EQ(*noise[0].accuracy.value, (0 + 0.5 + 1) / 3);
  EXPECT_DOUBLE_EQ(*noise[0].churn.value, (1 + 2 + 1) / 6.0);
  EXPECT_DOUBLE_EQ(*noise[1].accuracy.value, 0.5);
  EXPECT_EQ(*noise[1].churn.value, 0);
  EXPECT_FALSE(noise[2].accuracy.value.has_value()) << "it has no examples";
  const std::vector<ErrorRates> rates = ErrorRatesByGroup(m, labels, {of_example, 3});
  EXPECT_DOUBLE_EQ(*rates[0].false_positive.value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*rates[0].false_negative.value, 1.0 / 3);
  EXPECT_FALSE(rates[1].false_positive.value.has_value()) << "no example of it is no";
  EXPECT_DOUBLE_EQ(*rates[1].false_negative.value, 0.5);
  // An answer that is no number is an error, too.
  const std::vector<int32_t> last = {-1, -1, -1, -1, 0};
  EXPECT_DOUBLE_EQ(*ErrorRatesByGroup(m, labels, {last, 1})[0].false_positive.value, 2.0 / 3);
}

TEST(PerClassTest, ChurnsByClassAreThoseOfAllMembersAndWithoutEach) {
  Draws draws(16);
  for (int trial = 0; trial < 10; ++trial) {
    const int64_t members = 2 + draws.Below(4);
    const PredictionMatrix m = RandomAnswers(draws, members, 40, 4, trial % 2 == 0);
    std::vector<int32_t> labels;
    for (int x = 0; x < 40; ++x) labels.push_back(static_cast<int32_t>(x % 3));  // None of class 3.

    const ClassChurns churns = ChurnsByGroup(m, {labels, m.classes()});

    ASSERT_EQ(churns.labels, (std::vector<int32_t>{0, 1, 2}));
    ASSERT_EQ(churns.without.size(), members < 3 ? 0u : static_cast<size_t>(members));
    const std::vector<ClassNoise> noise = NoiseByClass(m, labels);
    for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(churns.all[k], *noise[k].churn.value, 1e-14);
    for (size_t left = 0; left < churns.without.size(); ++left) {
      std::vector<int64_t> others;
      for (int64_t r = 0; r < members; ++r) {
        if (r != static_cast<int64_t>(left)) others.push_back(r);
      }
      const std::vector<ClassNoise> rest = NoiseByClass(m.Select(others), labels);
      for (size_t k = 0; k < 3; ++k) {
        EXPECT_NEAR(churns.without[left][k], *rest[k].churn.value, 1e-14);
      }
    }
  }
  const std::vector<int32_t> two = {0, 1};
  EXPECT_TRUE(ChurnsByGroup(AnswersFrom({{0, 1}}, 2), {two, 2}).labels.empty());
}

TEST(PerClassTest, TheRatioSetsTheClassAgainstTheWhole) {
  // Class 0 right: 2/2, 0/2. Class 1 right: 1/2, 1/2. Overall: 3/4, 1/4.
  const PredictionMatrix m = AnswersFrom({{0, 0, 1, 0}, {1, 1, 1, 0}}, 2);
  const std::vector<int32_t> labels = {0, 0, 1, 1};

  const std::vector<ClassNoise> noise = NoiseByClass(m, labels);

  EXPECT_DOUBLE_EQ(*noise[0].ratio.value, 2.0);  // SD of {1, 0} / SD of {0.75, 0.25}.
  EXPECT_DOUBLE_EQ(*noise[0].range.value, 1.0);
  EXPECT_DOUBLE_EQ(*noise[1].ratio.value, 0.0);
  EXPECT_DOUBLE_EQ(*noise[0].churn.value, 1.0);
  EXPECT_DOUBLE_EQ(*noise[1].churn.value, 0.0);
}

TEST(PerClassTest, NoSpreadAtAllGivesNoRatioRatherThanZero) {
  const PredictionMatrix m = AnswersFrom({{0, 1}, {0, 1}}, 2);

  const std::vector<ClassNoise> noise = NoiseByClass(m, std::vector<int32_t>{0, 1});

  EXPECT_FALSE(noise[0].ratio.value.has_value());
  EXPECT_EQ(noise[0].ratio.note, "the overall spread is zero");
}

TEST(PerClassTest, AClassWithoutExamplesIsAbsentInWords) {
  const PredictionMatrix m = AnswersFrom({{0, 0}, {0, 2}}, 3);

  const std::vector<ClassNoise> noise = NoiseByClass(m, std::vector<int32_t>{0, 2});

  EXPECT_EQ(noise[1].examples, 0);
  EXPECT_FALSE(noise[1].accuracy.value.has_value());
  EXPECT_EQ(noise[1].churn.note, "the class has no examples");
}

TEST(PerClassTest, LabelsOutsideTheClassesBelongToNone) {
  const PredictionMatrix m = AnswersFrom({{0, 1}, {0, 1}}, 2);

  const std::vector<ClassNoise> noise = NoiseByClass(m, std::vector<int32_t>{-1, 7});

  EXPECT_EQ(noise[0].examples, 0);
  EXPECT_EQ(noise[1].examples, 0);
}

TEST(PerClassTest, OneMemberHasAnAccuracyAndNoSpread) {
  const PredictionMatrix m = AnswersFrom({{0, 1}}, 2);

  const std::vector<ClassNoise> noise = NoiseByClass(m, std::vector<int32_t>{0, 0});

  EXPECT_DOUBLE_EQ(*noise[0].accuracy.value, 0.5);
  EXPECT_FALSE(noise[0].accuracy_sd.value.has_value());
  EXPECT_EQ(noise[0].ratio.note, "a spread is absent");
}

}  // namespace
}  // namespace noisefloor::analysis
