#include "common/trainer_protocol/steps.h"

#include "gtest/gtest.h"

namespace noisefloor {
namespace {

// 1,000 examples of the sample, in batches of 128, 3 epochs.
Specification Small() {
  Specification specification;
  specification.data.train_examples = 1000;
  specification.train.epochs = 3;
  return specification;
}

TEST(StepsTest, TheLastPartOfABatchIsAStepUnlessItIsDropped) {
  Specification specification = Small();
  EXPECT_EQ(PlannedSteps(specification), 3 * 8);
  specification.train.drop_last = true;
  EXPECT_EQ(PlannedSteps(specification), 3 * 7);
  specification.train.batch_size = 125;
  EXPECT_EQ(PlannedSteps(specification), 3 * 8);
}

TEST(StepsTest, WithoutALimitTheWholeSetCounts) {
  Specification specification = Small();
  specification.data.train_examples = 0;
  EXPECT_EQ(PlannedExamples(specification), 6000);
  EXPECT_EQ(PlannedSteps(specification), 3 * 47);
  specification.data.train_examples = 1000000;
  EXPECT_EQ(PlannedExamples(specification), 6000);
}

TEST(StepsTest, OfAnUnknownSetNothingIsPlanned) {
  Specification specification = Small();
  specification.data.name = "imagenet";
  EXPECT_EQ(PlannedSteps(specification), 0);
}

TEST(StepsTest, OfOwnImagesWhatIsAskedIsPlanned) {
  Specification specification = Small();
  specification.data.name = "faces";
  specification.data.image_size = 64;
  specification.data.train_examples = 256;
  EXPECT_EQ(PlannedExamples(specification), 256);
  specification.data.train_examples = 0;
  EXPECT_EQ(PlannedExamples(specification), 0);
}

TEST(StepsTest, TheEndIsAlwaysEvaluatedAndOnlyOnce) {
  Specification specification = Small();
  const auto evaluations = [&](int64_t epochs, int64_t every) {
    specification.train.epochs = epochs;
    specification.evaluate.every_epochs = every;
    return PlannedEvaluations(specification);
  };
  EXPECT_EQ(evaluations(0, 1), 1);
  EXPECT_EQ(evaluations(0, 0), 1);
  EXPECT_EQ(evaluations(7, 0), 1);
  EXPECT_EQ(evaluations(7, 1), 7);
  EXPECT_EQ(evaluations(7, 3), 3);  // After epochs 3, 6 and 7.
  EXPECT_EQ(evaluations(6, 3), 2);
  EXPECT_EQ(evaluations(2, 5), 1);
}

}  // namespace
}  // namespace noisefloor
