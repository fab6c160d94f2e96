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

// Every source acts: an MLP with dropout on shuffled, augmented examples, four shards.
Specification Busy() {
  Specification specification;
  specification.model.name = "mlp";
  specification.model.dropout = 0.1;
  specification.augment.flip = true;
  specification.train.shards = 4;
  specification.sources.thread_choices = {1, 2};
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
}

TEST(IdleSourcesTest, OnAProcessorThereIsNothingToChooseOfKernels) {
  Specification specification = Busy();
  specification.hardware_class = "cpu-amd-avx2";
  EXPECT_THAT(IdleOf(specification), ElementsAre("autotune", "kernels"));
  specification.hardware_class = "nvidia-h100";
  EXPECT_THAT(IdleOf(specification), IsEmpty());
}

TEST(IdleSourcesTest, APokedZeroIsNoPoke) {
  Specification specification = Busy();
  specification.sources.poke_parameter = "conv1.bias";
  EXPECT_EQ(IdleReason(specification, NoiseSource::kPoke),
            "conv1.bias is 0 before its first step, which loses so small a poke");
  specification.sources.poke_step = 1;
  EXPECT_THAT(IdleOf(specification), IsEmpty());
}

TEST(IdleSourcesTest, WithoutTrainingOnlyTheInitialWeightsAndTheEvaluationAreLeft) {
  Specification specification = Busy();
  specification.train.epochs = 0;
  EXPECT_THAT(IdleOf(specification),
              ElementsAre("augment", "data_order", "dropout", "poke", "reduce_order"));
}

}  // namespace
}  // namespace noisefloor
