// What must fit together in a member that measures, with the exact words.
#include "common/trainer_protocol/check_measure.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/steps.h"
#include "tests/common/trainer_protocol/problems_of.h"

namespace noisefloor {
namespace {

using testing::ElementsAre;

Specification Measurement() {
  Specification specification;
  specification.measure = {.steps = 20, .warmup = 3, .image_size = 64, .classes = 10};
  return specification;
}

TEST(CheckMeasureTest, AMeasurementMayHaveAnyBatchThatItsShardsDivide) {
  Specification specification = Measurement();
  specification.train.batch_size = 9000;  // More than the data set has, which is not read.
  specification.train.shards = 9;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.shards = 7;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.batch_size: 9000 is not divisible by train.shards 7; the nearest "
                          "that are: 8995 or 9002"));
}

TEST(CheckMeasureTest, WhatAMeasurementDoesNotReadIsAtItsDefault) {
  Specification specification = Measurement();
  specification.data.name = "cifar10";
  specification.augment.flip = true;
  specification.train.epochs = 3;
  specification.train.drop_last = true;
  specification.train.schedule.factor = 0.5;
  specification.sources.shuffle_window = 5;
  specification.evaluate.batch_size = 7;
  const std::string expected = ": a measurement does not read it; expected ";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("data.name" + expected + "fashion-mnist-sample, the default",
                          "augment.flip" + expected + "false, the default",
                          "train.epochs" + expected + "2, the default",
                          "train.drop_last" + expected + "false, the default",
                          "train.schedule.factor" + expected + "0.1, the default",
                          "sources.data_order.window" + expected + "0, the default",
                          "evaluate.batch_size" + expected + "1000, the default"));
}

TEST(CheckMeasureTest, WhatOnlyAMeasurementReadsIsElsewhereAtItsDefault) {
  Specification specification;
  specification.measure.image_size = 32;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("measure.image_size: only a measurement reads it; expected 224, the "
                          "default"));
}

TEST(CheckMeasureTest, ImagesAreLargeEnoughForTheNetwork) {
  Specification specification = Measurement();
  specification.model.name = "inception_v3";
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("measure.image_size: inception_v3 needs images of at least 75 x 75 "
                          "pixels, measure.image_size has 64 x 64"));
  specification.measure.image_size = 75;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

TEST(CheckMeasureTest, AttributesNeedNoImagesOfOnesOwn) {
  Specification specification = Measurement();
  specification.train.loss = "binary_cross_entropy";
  specification.train.precision = "fp16";
  specification.train.average_decay = 0.9;
  specification.train.clip_norm = 1;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
  specification.train.label_smoothing = 0.1;
  EXPECT_THAT(ProblemsOf(specification),
              ElementsAre("train.label_smoothing: binary_cross_entropy has none; expected 0"));
}

TEST(CheckMeasureTest, NothingIsPoked) {
  Specification specification = Measurement();
  specification.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre("sources.poke.step: a measurement pokes "
                                                     "nothing; poke: off is expected"));
}

TEST(CheckMeasureTest, NothingIsDialedAndThereIsNoLoad) {
  Specification specification = Measurement();
  specification.sources.dial_size = 0.5;
  specification.sources.load_choices = {1};
  specification.sources.kernels_kind = "noisy";
  EXPECT_THAT(
      ProblemsOf(specification),
      ElementsAre("sources.kernels.kind: a measurement does not read it; expected stock, the "
                  "default",
                  "sources.dial.size: a measurement does not read it; expected 0, the default",
                  "sources.load.choices: a measurement does not read it; expected [], the "
                  "default"));
  specification.Source(NoiseSource::kDial).state = SourceState::kFree;
  specification.Source(NoiseSource::kLoad).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification),
              testing::IsSupersetOf(
                  {"sources.dial.size: a measurement adds nothing to gradients; dial: off is "
                   "expected",
                   "sources.load.choices: a measurement has no load of its own; load: off is "
                   "expected"}));
}

TEST(CheckMeasureTest, AutotuneAloneCannotBeTakenAway) {
  Specification specification = Measurement();
  specification.Source(NoiseSource::kAutotune).state = SourceState::kFree;
  EXPECT_THAT(
      ProblemsOf(specification),
      ElementsAre("measure.steps: with autotune free and kernels fixed both arms would "
                  "have the algorithms that the first one chose: cuDNN keeps them; expected "
                  "kernels: free, too"));
  specification.Source(NoiseSource::kKernels).state = SourceState::kFree;
  EXPECT_THAT(ProblemsOf(specification), ElementsAre());
}

TEST(CheckMeasureTest, ItsStepsAreThoseOfBothArmsAndItNeedsNoData) {
  const Specification specification = Measurement();
  EXPECT_EQ(PlannedSteps(specification), 2 * (3 + 20));
  EXPECT_EQ(PlannedExamples(specification), 0);
  Specification named = specification;
  named.stack = "torch-2.11-cu130";
  named.hardware_class = "cpu-intel-avx2";
  named.Source(NoiseSource::kKernels).state = SourceState::kFree;
  EXPECT_EQ(NeedsOf(SpecificationToJson(named))->data_set, "");
  EXPECT_FALSE(NeedsOf(SpecificationToJson(named))->kernels_free) << "it has an arm that is fixed";
  named.measure = {};
  EXPECT_TRUE(NeedsOf(SpecificationToJson(named))->kernels_free);
  EXPECT_EQ(NeedsOf(SpecificationToJson(named))->data_set, "fashion-mnist-sample");
}

}  // namespace
}  // namespace noisefloor
