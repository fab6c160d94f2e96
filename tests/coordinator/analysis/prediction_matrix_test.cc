#include "coordinator/analysis/prediction_matrix.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/status.h"

namespace noisefloor::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNoLogit = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(PredictionMatrixTest, TheLargestLogitIsTheAnswer) {
  PredictionMatrix matrix(2, 3);

  ASSERT_TRUE(matrix.AddLogits(std::vector<float>{0, 2, 1, -3, -2, -1}).ok());

  EXPECT_THAT(matrix.Row(0), ElementsAre(1, 2));
}

TEST(PredictionMatrixTest, TiesGoToTheLowestClass) {
  PredictionMatrix matrix(3, 3);

  ASSERT_TRUE(matrix.AddLogits(std::vector<float>{5, 5, 5, 1, 7, 7, 0.0f, -0.0f, -1}).ok());

  EXPECT_THAT(matrix.Row(0), ElementsAre(0, 1, 0));
}

TEST(PredictionMatrixTest, ANanAnywhereMakesTheAnswerUndefined) {
  PredictionMatrix matrix(3, 2);

  ASSERT_TRUE(matrix.AddLogits(std::vector<float>{kNoLogit, 1, 1, kNoLogit, 0, 1}).ok());

  EXPECT_THAT(matrix.Row(0), ElementsAre(kUndefined, kUndefined, 1));
}

TEST(PredictionMatrixTest, InfiniteLogitsCompareAsNumbers) {
  PredictionMatrix matrix(2, 3);

  ASSERT_TRUE(matrix.AddLogits(std::vector<float>{0, kInf, 9, -kInf, -kInf, -kInf}).ok());

  EXPECT_THAT(matrix.Row(0), ElementsAre(1, 0));
}

TEST(PredictionMatrixTest, AnUndefinedAnswerDiffersFromEverything) {
  EXPECT_TRUE(Differ(kUndefined, kUndefined));
  EXPECT_TRUE(Differ(kUndefined, 0));
  EXPECT_TRUE(Differ(0, kUndefined));
  EXPECT_TRUE(Differ(0, 1));
  EXPECT_FALSE(Differ(1, 1));
}

TEST(PredictionMatrixTest, LogitsOfAnotherSizeAreRefusedByTheirSize) {
  PredictionMatrix matrix(2, 3);

  const absl::Status status = matrix.AddLogits(std::vector<float>(5));

  EXPECT_EQ(Message(status), "predictions have 5 values, expected 2 x 3");
  EXPECT_EQ(matrix.members(), 0);
}

TEST(PredictionMatrixTest, AnswersOutsideTheClassesAreRefused) {
  PredictionMatrix matrix(2, 3);

  EXPECT_THAT(Message(matrix.AddAnswers(std::vector<int16_t>{0, 3})), HasSubstr("answer 3"));
  EXPECT_THAT(Message(matrix.AddAnswers(std::vector<int16_t>{0, -2})), HasSubstr("answer -2"));
  EXPECT_THAT(Message(matrix.AddAnswers(std::vector<int16_t>{0})), HasSubstr("have 1 values"));
  EXPECT_EQ(matrix.members(), 0);
}

TEST(PredictionMatrixTest, SelectingKeepsTheAskedOrder) {
  PredictionMatrix matrix(3, 5);
  ASSERT_TRUE(matrix.AddAnswers(std::vector<int16_t>{0, 1, 2}).ok());
  ASSERT_TRUE(matrix.AddAnswers(std::vector<int16_t>{3, 4, kUndefined}).ok());

  const PredictionMatrix members = matrix.Select(std::vector<int64_t>{1, 0});
  const PredictionMatrix examples = matrix.SelectExamples(std::vector<int64_t>{2, 0});

  EXPECT_THAT(members.Row(0), ElementsAre(3, 4, kUndefined));
  EXPECT_THAT(members.Row(1), ElementsAre(0, 1, 2));
  EXPECT_THAT(examples.Row(0), ElementsAre(2, 0));
  EXPECT_THAT(examples.Row(1), ElementsAre(kUndefined, 3));
}

TEST(PredictionMatrixTest, AnUndefinedAnswerIsNeverRight) {
  const std::vector<int16_t> answers = {0, 1, kUndefined, kUndefined};
  const std::vector<int32_t> labels = {0, 2, 1, -1};

  EXPECT_DOUBLE_EQ(Accuracy(answers, labels), 0.25);
}

}  // namespace
}  // namespace noisefloor::analysis
