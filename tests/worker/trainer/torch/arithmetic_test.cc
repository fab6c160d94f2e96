// Precisions, the moving average, clipping, rates and AdamW through the whole program.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "common/files/safetensors.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/trainer/data/dataset.h"
#include "worker/trainer/data/whitening.h"

namespace noisefloor::trainer {
namespace {

// Four steps of two epochs.
TrainerRequest ShortRequest() {
  TrainerRequest request = SmallRequest();
  request.specification.data.train_examples = 64;
  request.specification.train.batch_size = 32;
  return request;
}

std::vector<float> FloatsOf(const SafetensorsFile& file, const std::string& name) {
  const TensorView* tensor = file.Find(name);
  EXPECT_NE(tensor, nullptr) << name;
  return tensor == nullptr ? std::vector<float>() : *CopyValues<float>(*tensor);
}

Ran RunOf(const TrainerRequest& request) {
  Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 0) << ran.outcome().message << ran.output;
  return ran;
}

TEST(ArithmeticTest, EachPrecisionRepeatsItsBitsFromOneBeginning) {
  const Ran plain = RunOf(ShortRequest());
  for (const char* precision : {"bf16", "fp64"}) {
    TrainerRequest request = ShortRequest();
    request.specification.train.precision = precision;
    const Ran ran = RunOf(request);
    request.work_directory = ShortRequest().work_directory;
    EXPECT_EQ(RunOf(request).outcome().hashes, ran.outcome().hashes) << precision;
    EXPECT_EQ(ran.Hash("init"), plain.Hash("init")) << precision;
    EXPECT_EQ(ran.Hash("first_batches"), plain.Hash("first_batches")) << precision;
    EXPECT_NE(ran.Hash("weights"), plain.Hash("weights")) << precision;
    EXPECT_NEAR(ran.outcome().metrics.at("loss"), plain.outcome().metrics.at("loss"), 0.05);
  }
}

// Its scale is so large that gradients overflow at first: those steps move nothing.
TEST(ArithmeticTest, StepsThatOverflowInFp16AreToldAndMoveNothing) {
  TrainerRequest request = ShortRequest();
  request.specification.data.train_examples = 16;
  request.specification.train.batch_size = 8;
  request.specification.train.epochs = 1;
  request.specification.model.name = "mlp";
  request.specification.model.hidden = 8;
  request.specification.model.batch_norm_momentum = 0.01;
  request.specification.train.precision = "fp16";
  request.specification.train.loss_scale.initial = 16777216;
  const Ran ran = RunOf(request);
  EXPECT_NE(ran.outcome().environment.find("\"skipped_steps\":2"), std::string::npos)
      << ran.outcome().environment;
  TrainerRequest none = request;
  none.specification.train.epochs = 0;
  none.work_directory = ShortRequest().work_directory;
  EXPECT_EQ(ran.Hash("weights"), RunOf(none).Hash("weights"));
}

TEST(ArithmeticTest, TheAverageIsWhatIsTestedHashedAndWritten) {
  const TrainerRequest without = ShortRequest();
  const Ran plain = RunOf(without);
  TrainerRequest request = ShortRequest();
  request.specification.train.average_decay = 0.5;
  const Ran averaged = RunOf(request);
  // Training goes on from the trained weights, not from the average.
  ASSERT_EQ(averaged.RecordsOf("train_loss").size(), plain.RecordsOf("train_loss").size());
  for (size_t i = 0; i < plain.RecordsOf("train_loss").size(); ++i) {
    EXPECT_EQ(averaged.RecordsOf("train_loss")[i].value, plain.RecordsOf("train_loss")[i].value);
  }
  EXPECT_EQ(averaged.Hash("init"), plain.Hash("init"));
  for (const char* name : {"weights", "weights_at/1", "weights_at/2", "logits"}) {
    EXPECT_NE(averaged.Hash(name), plain.Hash(name)) << name;
  }
  const auto average = SafetensorsFile::Open(request.work_directory + "/weights.safetensors");
  const auto trained = SafetensorsFile::Open(without.work_directory + "/weights.safetensors");
  ASSERT_TRUE(average.ok() && trained.ok()) << average.status() << trained.status();
  EXPECT_NE(FloatsOf(*average, "conv1.weight"), FloatsOf(*trained, "conv1.weight"));
  // Which are an average already.
  for (const char* name : {"bn1.running_mean", "bn1.running_var", "bn3.running_mean"}) {
    EXPECT_EQ(FloatsOf(*average, name), FloatsOf(*trained, name)) << name;
  }
}

TEST(ArithmeticTest, AnAverageWithoutAStepIsTheInitialWeights) {
  TrainerRequest request = ShortRequest();
  request.specification.train.epochs = 0;
  const Ran plain = RunOf(request);
  request.specification.train.average_decay = 0.9;
  request.work_directory = ShortRequest().work_directory;
  const Ran averaged = RunOf(request);
  EXPECT_EQ(averaged.outcome().kind, Outcome::Kind::kDone) << averaged.outcome().message;
  EXPECT_EQ(averaged.outcome().hashes, plain.outcome().hashes);
}

// A whitened stem is not learned, and has no gradient that could be clipped, dialed or decayed; at
// a rate of 0 biases are not learned either.
TEST(ArithmeticTest, ParametersMoveAtTheirRates) {
  TrainerRequest request = ShortRequest();
  Specification& spec = request.specification;
  spec.model.name = "resnet9_whitened";
  spec.model.width = 2;
  spec.train.optimizer.momentum = 0.9;
  spec.train.optimizer.weight_decay = 0.01;
  const auto dataset = LoadDataset(spec.data.name, request.data_root, {64, 200});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const Whitening whitening = WhitenPatches(dataset->train);
  for (const double rate : {0.0, 8.0}) {
    spec.train.optimizer.bias_rate = rate;
    RunOf(request);
    const auto weights = SafetensorsFile::Open(request.work_directory + "/weights.safetensors");
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(FloatsOf(*weights, "stem.weight"), whitening.filters);
    EXPECT_EQ(FloatsOf(*weights, "stem.bias") == whitening.shifts, rate == 0);
    EXPECT_EQ(FloatsOf(*weights, "layer2.bn.bias") == std::vector<float>(8), rate == 0);
    EXPECT_NE(FloatsOf(*weights, "layer2.bn.weight"), std::vector<float>(8, 1));
    request.work_directory = ShortRequest().work_directory;
  }
}

TEST(ArithmeticTest, WhatThisProcessorHasNotIsRefusedBeforeAnythingIsTrained) {
  TrainerRequest request = ShortRequest();
  request.specification.train.precision = "tf32";
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().message,
            "train.precision: tf32 is an arithmetic of GPUs, this is a processor");
}

TEST(ArithmeticTest, EachSettingOfTheStepChangesTheWeights) {
  std::map<std::string, std::string> weights;
  const auto run = [&](const std::string& name, const auto& change) {
    TrainerRequest request = ShortRequest();
    change(request.specification.train);
    weights[RunOf(request).Hash("weights")] += name;
  };
  run("sgd", [](TrainSettings&) {});
  run("clip", [](TrainSettings& train) { train.clip_norm = 0.01; });
  run("keras", [](TrainSettings& train) {
    train.optimizer.formula = "keras";
    train.schedule.name = "cosine";
  });
  run("cosine", [](TrainSettings& train) { train.schedule.name = "cosine"; });
  run("adamw", [](TrainSettings& train) {
    train.optimizer = {.name = "adamw", .learning_rate = 0.01, .weight_decay = 0.1};
  });
  run("adamw of matrices", [](TrainSettings& train) {
    train.optimizer = {
        .name = "adamw", .learning_rate = 0.01, .weight_decay = 0.1, .decayed = "matrices"};
  });
  run("bias rate", [](TrainSettings& train) { train.optimizer.bias_rate = 4; });
  EXPECT_EQ(weights.size(), 7u);
}

}  // namespace
}  // namespace noisefloor::trainer
