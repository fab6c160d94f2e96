#include "coordinator/analysis/divergent.h"

#include <vector>

#include "gtest/gtest.h"

#include "tests/coordinator/analysis/random_inputs.h"

namespace noisefloor::analysis {
namespace {

TEST(DivergentTest, OneHalfSelectsAndTheOtherMeasures) {
  // The selecting half disagrees on examples 1 and 2; the measuring half on 2 only.
  const PredictionMatrix selecting = AnswersFrom({{0, 0, 0, 0}, {0, 1, 1, 0}}, 2);
  const PredictionMatrix measuring = AnswersFrom({{0, 0, 0, 0}, {0, 0, 1, 1}}, 2);
  const std::vector<int32_t> labels = {0, 0, 0, 0};

  const DivergentSet set = FindDivergent(selecting, measuring, labels, 10);

  ASSERT_EQ(set.examples.size(), 2u);
  EXPECT_EQ(set.examples[0].example, 1);  // Ties by the lower number.
  EXPECT_DOUBLE_EQ(set.examples[0].selected_by, 1.0);
  EXPECT_DOUBLE_EQ(*set.examples[0].disagreement.value, 0.0);
  EXPECT_DOUBLE_EQ(*set.examples[0].accuracy.value, 1.0);
  EXPECT_EQ(set.examples[1].example, 2);
  EXPECT_DOUBLE_EQ(*set.examples[1].disagreement.value, 1.0);
  EXPECT_DOUBLE_EQ(*set.examples[1].accuracy.value, 0.5);
  EXPECT_DOUBLE_EQ(*set.subset_disagreement.value, 0.5);
  EXPECT_DOUBLE_EQ(*set.subset_accuracy.value, 0.75);
}

TEST(DivergentTest, NoMoreThanAskedForAndTheMostDivergentFirst) {
  const PredictionMatrix selecting = AnswersFrom({{0, 0, 0}, {0, 1, 1}, {0, 2, 1}, {0, 2, 1}}, 3);

  const DivergentSet set = FindDivergent(selecting, selecting, std::vector<int32_t>{0, 0, 0}, 1);

  ASSERT_EQ(set.examples.size(), 1u);
  EXPECT_EQ(set.examples[0].example, 1);
  EXPECT_DOUBLE_EQ(set.examples[0].selected_by, 5.0 / 6.0);
}

TEST(DivergentTest, OneMeasuringMemberHasAnAccuracyAndNoDisagreement) {
  const PredictionMatrix selecting = AnswersFrom({{0}, {1}}, 2);
  const PredictionMatrix measuring = AnswersFrom({{1}}, 2);

  const DivergentSet set = FindDivergent(selecting, measuring, std::vector<int32_t>{1}, 5);

  ASSERT_EQ(set.examples.size(), 1u);
  EXPECT_FALSE(set.examples[0].disagreement.value.has_value());
  EXPECT_DOUBLE_EQ(*set.examples[0].accuracy.value, 1.0);
}

TEST(DivergentTest, NothingIsChosenByOneMemberOrByAgreement) {
  const PredictionMatrix one = AnswersFrom({{0, 1}}, 2);
  const PredictionMatrix agreeing = AnswersFrom({{0, 1}, {0, 1}}, 2);
  const std::vector<int32_t> labels = {0, 1};

  EXPECT_TRUE(FindDivergent(one, agreeing, labels, 5).examples.empty());
  EXPECT_TRUE(FindDivergent(agreeing, one, labels, 5).examples.empty());
  EXPECT_EQ(FindDivergent(one, one, labels, 5).subset_accuracy.note, "no example was selected");
}

TEST(DivergentTest, MeasuringIsNotBiasedBySelectionWhereAllNoiseIsChance) {
  // Every example is equally noisy: a true disagreement of 1/2. The selecting half reports far
  // more on what it selected, the measuring half does not.
  Draws draws(9);
  const auto coin_rows = [&] {
    PredictionMatrix m(2000, 2);
    for (int k = 0; k < 6; ++k) {
      std::vector<int16_t> row;
      for (int x = 0; x < 2000; ++x) row.push_back(static_cast<int16_t>(draws.Below(2)));
      EXPECT_TRUE(m.AddAnswers(row).ok());
    }
    return m;
  };
  const PredictionMatrix selecting = coin_rows();
  const PredictionMatrix measuring = coin_rows();

  const DivergentSet set = FindDivergent(selecting, measuring, std::vector<int32_t>(2000, 0), 400);

  double selected = 0;
  for (const Divergent& example : set.examples) selected += example.selected_by / 400;
  EXPECT_GT(selected, 0.58);
  EXPECT_NEAR(*set.subset_disagreement.value, 0.5, 0.03);
}

}  // namespace
}  // namespace noisefloor::analysis
