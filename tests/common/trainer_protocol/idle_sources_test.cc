#include "common/trainer_protocol/idle_sources.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::set<std::string> IdleOf(const Specification& specification) {
  std::set<std::string> idle;
  for (const NoiseSource source : kAllNoiseSources) {
    if (IdleReason(specification, source)) idle.emplace(Name(source));
  }
  return idle;
}

// Every source acts: an MLP with dropout on shuffled, augmented examples, four shards whose order
// of arrival counts.
Specification Busy() {
  Specification specification;
  specification.model.name = "mlp";
  specification.model.dropout = 0.1;
  specification.augment.flip = true;
  specification.train.shards = 4;
  specification.sources.thread_choices = {1, 2};
  specification.sources.dial_size = 1e-7;
  specification.sources.load_choices = {0, 2};
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFree;
  return specification;
}

TEST(IdleSourcesTest, WhatHasSomethingToActOnIsNotIdle) {
  EXPECT_THAT(IdleOf(Busy()), IsEmpty());
  Specification specification = Busy();
  specification.model.name = "medium_cnn";
  specification.augment = {.crop_padding = 4};
  specification.sources.shuffle_window = 2;
  specification.train.shards = 3;
  EXPECT_THAT(IdleOf(specification), IsEmpty());
  specification.augment = {.cutout = 8};
  EXPECT_THAT(IdleOf(specification), IsEmpty());
}

TEST(IdleSourcesTest, TheFirstStudysNetworkHasNoDropout) {
  Specification specification = Busy();
  specification.model.name = "small_cnn";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDropout), "small_cnn has no dropout");
  EXPECT_THAT(IdleOf(specification), ElementsAre("dropout"));
  specification.model.name = "resnet18";
  EXPECT_THAT(IdleOf(specification), ElementsAre("dropout"));
  specification.model.name = "vit";
  EXPECT_THAT(IdleOf(specification), IsEmpty());
}

TEST(IdleSourcesTest, EachSettingThatStillsASourceIsNamed) {
  Specification specification = Busy();
  specification.model.dropout = 0;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDropout), "model.dropout is 0");

  specification = Busy();
  specification.augment = {.standardise = true};
  EXPECT_EQ(IdleReason(specification, NoiseSource::kAugment), "no crop, flip or cutout is on");

  specification = Busy();
  specification.sources.shuffle_window = 1;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDataOrder),
            "sources.data_order.window is 1: nothing is shuffled");
  specification.sources.shuffle_window = 0;
  specification.data.train_examples = 1;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDataOrder), "there is one training example");

  for (const int64_t shards : {1, 2}) {
    specification = Busy();
    specification.train.shards = shards;
    EXPECT_EQ(IdleReason(specification, NoiseSource::kReduceOrder),
              "train.shards is " + std::to_string(shards) +
                  ": the sum of fewer than three shards has the same bits in every order");
  }

  specification = Busy();
  specification.sources.thread_choices = {2, 2};
  EXPECT_THAT(IdleOf(specification), ElementsAre("threads"));
  specification = Busy();
  specification.sources.load_choices = {2, 2};
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), "sources.load.choices has one number");
}

TEST(IdleSourcesTest, ALoadChangesNoBitsWhereNothingIsFreeThatDependsOnTimes) {
  constexpr char kWhy[] = "it changes times, and no source that depends on times is free";
  Specification specification = Busy();
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFixed;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), kWhy);
  specification = Busy();
  specification.train.shards = 1;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), kWhy);
  // Only a GPU has kernels to choose from.
  specification.Source(NoiseSource::kAutotune).state = SourceState::kFree;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), std::nullopt);
  specification.hardware_class = "nvidia-h100";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), std::nullopt);
  specification.hardware_class = "cpu-amd-avx2";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kLoad), kWhy);
}

TEST(IdleSourcesTest, ALoadActsOnEachOfTheSourcesOfAGpuThatDependOnTimes) {
  Specification specification = Busy();
  specification.hardware_class = "nvidia-h100";
  specification.Source(NoiseSource::kReduceOrder).state = SourceState::kFixed;
  EXPECT_NE(IdleReason(specification, NoiseSource::kLoad), std::nullopt);
  for (const NoiseSource source : {NoiseSource::kKernels, NoiseSource::kAutotune}) {
    Specification one = specification;
    one.Source(source).state = SourceState::kFree;
    EXPECT_EQ(IdleReason(one, NoiseSource::kLoad), std::nullopt) << Name(source);
  }
}

TEST(IdleSourcesTest, ADialBelowEveryRoundingIsNoDial) {
  Specification specification = Busy();
  specification.sources.dial_size = 5e-9;  // 6.34 deviations are half of a last place.
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDial), std::nullopt);
  specification.sources.dial_size = 4e-9;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDial),
            "sources.dial.size is 4e-09: every gradient is rounded back to what it was");
  specification.train.precision = "fp64";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kDial), std::nullopt);
  specification.sources.dial_size = 8e-18;
  EXPECT_THAT(IdleOf(specification), ElementsAre("dial"));
}

TEST(IdleSourcesTest, OnAProcessorThereIsNothingToChooseOfKernels) {
  Specification specification = Busy();
  specification.hardware_class = "cpu-amd-avx2";
  EXPECT_THAT(IdleOf(specification), ElementsAre("autotune", "kernels"));
  specification.hardware_class = "nvidia-h100";
  EXPECT_THAT(IdleOf(specification), ElementsAre("threads"));
}

TEST(IdleSourcesTest, ThreadsAddUpOnAProcessorAlone) {
  Specification specification = Busy();
  specification.hardware_class = "nvidia-h100-x4";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kThreads),
            "on a GPU no operation that makes bits runs on them");
  for (const char* name : {"", "cpu-amd-avx2", "tpu-v4"}) {
    specification.hardware_class = name;
    EXPECT_EQ(IdleReason(specification, NoiseSource::kThreads), std::nullopt) << name;
  }
}

TEST(IdleSourcesTest, APokedZeroIsNoPoke) {
  Specification specification = Busy();
  specification.sources.poke_parameter = "conv1.bias";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kPoke),
            "conv1.bias is 0 before its first step, which loses so small a poke");
  specification.sources.poke_step = 1;
  EXPECT_THAT(IdleOf(specification), IsEmpty());
  specification.sources.poke_step = 0;
  specification.model.name = "resnet9_whitened";
  EXPECT_NE(IdleReason(specification, NoiseSource::kPoke), std::nullopt);
  specification.sources.poke_parameter = "stem.bias";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kPoke), std::nullopt) << "the patches' mean";
}

TEST(IdleSourcesTest, WithoutTrainingOnlyTheInitialWeightsAndTheEvaluationAreLeft) {
  Specification specification = Busy();
  specification.train.epochs = 0;
  EXPECT_THAT(IdleOf(specification),
              ElementsAre("augment", "autotune", "data_order", "dial", "dropout", "load", "poke",
                          "reduce_order", "threads"));
  EXPECT_EQ(IdleReason(specification, NoiseSource::kThreads),
            "train.epochs is 0: nothing is trained");
  specification.measure.steps = 10;
  EXPECT_EQ(IdleReason(specification, NoiseSource::kThreads), std::nullopt) << "steps are taken";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kAutotune), std::nullopt);
}

}  // namespace
}  // namespace noisefloor
