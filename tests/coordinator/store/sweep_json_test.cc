// The definition of a sweep as JSON.
#include "coordinator/store/sweep_json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/sweep/infer.h"
#include "tests/coordinator/store/sample_writes.h"

namespace noisefloor {
namespace {

TEST(SweepJsonTest, SweepsComeBackWhole) {
  sweep::Sweep sweep = sample::Content();
  sweep.base = OwnSchema()->Defaults();
  PutSetting(sweep.base, "train.schedule.milestones", std::vector<int64_t>{1, 2});
  PutSetting(sweep.base, "train.optimizer.learning_rate", 0.1 + 0.2);
  sweep.axes.push_back({{{"train.epochs", {int64_t{1}, int64_t{2}}},
                         {"model.name", {std::string("mlp"), std::string("small_cnn")}}}});
  sweep.hardware = {""};
  sweep.plans[0].blocks = 3;
  sweep.plans[1].replicates = 6;
  RuleOf(sweep.plans[1].rules, NoiseSource::kDropout).levels = {1, 0, 1};
  RuleOf(sweep.plans[0].rules, NoiseSource::kDial).state = SourceState::kOff;
  RuleOf(sweep.plans[1].rules, NoiseSource::kDial) = {SourceState::kFree, {0, 1}};
  RuleOf(sweep.plans[1].rules, NoiseSource::kLoad).state = SourceState::kFixed;
  sweep.reference_accuracy = 0.1 + 0.2;
  sweep.until = {sweep::UntilFigure::kTop1, 0.1 + 0.2, 4000000000, true};

  const auto back = SweepFromJson(SweepToJson(sweep));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(SweepToJson(*back), SweepToJson(sweep));
  EXPECT_EQ(sweep::CanonicalText(*back), sweep::CanonicalText(sweep));
  EXPECT_EQ(*FindSetting(back->base, "train.optimizer.learning_rate"), SettingValue(0.1 + 0.2));
  EXPECT_EQ(back->seed, sweep.seed);
  EXPECT_EQ(back->plans[0].rules, sweep.plans[0].rules);
  EXPECT_EQ(back->plans[1].rules, sweep.plans[1].rules);
  EXPECT_EQ(sweep::MemberCount(*back), sweep::MemberCount(sweep));
  EXPECT_EQ(back->reference_accuracy, 0.1 + 0.2);
  EXPECT_EQ(back->until, sweep.until);
  EXPECT_EQ(SweepFromJson(SweepToJson(sample::Content()))->reference_accuracy, std::nullopt);
  EXPECT_EQ(SweepFromJson(SweepToJson(sample::Content()))->until, std::nullopt);
}

TEST(SweepJsonTest, WhatWasKeptBeforeThereWasNoiseOnPurposeHasNone) {
  const std::string text = SweepToJson(sample::Content());
  EXPECT_EQ(text.find("dial\":\"off"), std::string::npos);
  EXPECT_EQ(text.find("load\":\"off"), std::string::npos);
  const absl::StatusOr<sweep::Sweep> back = SweepFromJson(text);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_FALSE(back->plans.empty());
  for (const sweep::NoisePlan& plan : back->plans) {
    EXPECT_EQ(RuleOf(plan.rules, NoiseSource::kDial).state, SourceState::kOff);
    EXPECT_EQ(RuleOf(plan.rules, NoiseSource::kLoad).state, SourceState::kOff);
  }
}

TEST(SweepJsonTest, AnInferenceComesBackWithItsWeights) {
  const sweep::Sweep original = sample::Content();
  const std::vector<sweep::Cell> cells = sweep::Expand(original);
  const std::string hash(64, 'a');
  const sweep::Sweep infer =
      sweep::InferenceOf(original,
                         {{cells.at(1),
                           sample::kIdentity,
                           {{0, hash, 12, ""}, {2, hash, 12, "their \"own\".safetensors"}}},
                          {cells.at(2), sample::kIdentity, {{1, hash, uint64_t{1} << 40, ""}}}},
                         {SweepId{1}, {"cpu-x", "cpu-y"}, "any"});

  const auto back = SweepFromJson(SweepToJson(infer));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->kind, sweep::Kind::kInfer);
  EXPECT_EQ(back->inference, infer.inference);
  EXPECT_EQ(sweep::CanonicalText(*back), sweep::CanonicalText(infer));
  EXPECT_EQ(SweepFromJson(SweepToJson(original))->inference, std::nullopt);
}

TEST(SweepJsonTest, AMeasurementComesBackAsOne) {
  sweep::Sweep sweep = sample::Content();
  EXPECT_EQ(SweepFromJson(SweepToJson(sweep))->kind, sweep::Kind::kTrain);
  PutSetting(sweep.base, "measure.steps", int64_t{3});
  EXPECT_EQ(SweepFromJson(SweepToJson(sweep))->kind, sweep::Kind::kMeasure);
}

// They come back in the order of their paths, and mean the same.
TEST(SweepJsonTest, SettingsOfAnotherTrainerComeBackAsTheyWere) {
  sweep::Sweep sweep = sample::Content();
  sweep.schema = "of-the-forest";
  sweep.base = {{"forest.trees", int64_t{3}}, {"forest.share", 1.0}, {"deep", true}};
  sweep.axes = {{{{"forest.trees", {int64_t{1}, int64_t{2}}}}}};

  const auto back = SweepFromJson(SweepToJson(sweep));

  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->schema, "of-the-forest");
  EXPECT_EQ(back->base,
            (Settings{{"deep", true}, {"forest.share", 1.0}, {"forest.trees", int64_t{3}}}));
  const sweep::Cell cell = sweep::Expand(sweep).at(1);
  EXPECT_EQ(TrainingToJson(sweep::MemberTraining(*back, cell, 0, "", "", "id")),
            TrainingToJson(sweep::MemberTraining(sweep, cell, 0, "", "", "id")));
}

TEST(SweepJsonTest, TextThatNobodyWroteIsRefused) {
  for (const char* text : {"", "[]", "{}", R"({"name": 3})", "not json"}) {
    EXPECT_FALSE(SweepFromJson(text).ok()) << text;
  }
}

TEST(SweepJsonTest, BytesThatAreNoTextDoNotStopTheStore) {
  sweep::Sweep sweep = sample::Content();
  sweep.notes = "bad \xff byte";

  EXPECT_TRUE(SweepFromJson(SweepToJson(sweep)).ok());
}

}  // namespace
}  // namespace noisefloor
