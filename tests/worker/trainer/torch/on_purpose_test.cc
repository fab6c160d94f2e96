// Noise on purpose in the real program: the gradients of a training that is dialed, and a training
// with a load beside it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/base/philox.h"
#include "common/files/safetensors.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"
#include "worker/trainer/noise/normal.h"

namespace noisefloor::trainer {
namespace {

Json MeasuredIn(const Ran& ran) { return Json::parse(ran.outcome().environment).at("measured"); }

// Of the exported file, by name.
std::map<std::string, std::vector<float>> ExportedWeightsOf(const TrainerRequest& request) {
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  const auto file = SafetensorsFile::Open(request.work_directory + "/weights.safetensors");
  std::map<std::string, std::vector<float>> weights;
  if (!file.ok()) {
    ADD_FAILURE() << file.status();
    return weights;
  }
  for (const TensorView& tensor : file->tensors()) {
    std::vector<float>& values = weights[std::string(tensor.name)];
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  }
  return weights;
}

// One step of plain gradient descent.
TrainerRequest OneStep(int64_t epochs) {
  TrainerRequest request = SmallRequest();
  Specification& spec = request.specification;
  spec.model.batch_norm = false;
  spec.model.batch_norm_momentum = ModelSettings().batch_norm_momentum;  // Not read, then.
  spec.data.train_examples = spec.train.batch_size = 32;
  spec.train.optimizer = {.learning_rate = 0.5};
  spec.train.epochs = epochs;
  return request;
}

TEST(DialedTrainingTest, AStepGoesByTheGradientAndItsNoise) {
  const auto initial = ExportedWeightsOf(OneStep(0));
  const auto plain = ExportedWeightsOf(OneStep(1));
  TrainerRequest request = OneStep(1);
  Free(request.specification, NoiseSource::kDial);
  request.specification.sources.dial_size = 0.25;
  request.specification.sources.dial_parameters = "conv2.weight,*.bias";
  const auto dialed = ExportedWeightsOf(request);

  const uint64_t seed = request.specification.Source(NoiseSource::kDial).seed;
  int64_t compared = 0;
  for (const auto& [name, before] : initial) {
    const bool is_dialed = name == "conv2.weight" || name.ends_with(".bias");
    EXPECT_EQ(dialed.at(name) != plain.at(name), is_dialed) << name;
    const PhiloxStream stream(seed, StreamOf(name));
    for (size_t i = 0; is_dialed && i < before.size(); ++i) {
      const double way = double{plain.at(name)[i]} - before[i];
      if (std::abs(way) < 1e-4) continue;  // Of less, a weight's own rounding is too much.
      const double noise = (double{dialed.at(name)[i]} - plain.at(name)[i]) / way;
      EXPECT_NEAR(noise, 0.25 * NormalFloat(stream.Word(i)), 5e-3) << name << " " << i;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(DialedTrainingTest, APatternThatNoParameterHasEndsTheMember) {
  TrainerRequest request = OneStep(1);
  Free(request.specification, NoiseSource::kDial);
  request.specification.sources.dial_size = 0.25;
  request.specification.sources.dial_parameters = "fc9.*";
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 10);
  EXPECT_EQ(ran.outcome().message,
            "sources.dial.parameters: the model learns no parameter 'fc9.*'; its first is "
            "'conv1.weight'");
}

TEST(DialedTrainingTest, HowManyElementsWereDialedIsTold) {
  TrainerRequest request = OneStep(1);
  EXPECT_FALSE(MeasuredIn(RunTrainer(request)).contains("dialed_elements"));
  request.specification.Source(NoiseSource::kDial).state = SourceState::kFixed;
  request.specification.sources.dial_size = 1e-6;
  request.specification.sources.dial_parameters = "conv1.bias";
  EXPECT_EQ(MeasuredIn(RunTrainer(request))["dialed_elements"], 16);
}

TEST(LoadedTrainingTest, WhatRanBesideItIsToldAndChangesNoBits) {
  const TrainerRequest quiet = SmallRequest();
  const Ran alone = RunTrainer(quiet);
  EXPECT_FALSE(MeasuredIn(alone).contains("background_load"));
  for (const char* kind : {"compute", "memory"}) {
    TrainerRequest request = quiet;
    request.specification.Source(NoiseSource::kLoad).state = SourceState::kFixed;
    request.specification.sources.load_choices = {3};
    request.specification.sources.load_kind = kind;

    const Ran ran = RunTrainer(request);

    ASSERT_EQ(ran.exit_code, 0) << ran.output;
    EXPECT_EQ(ran.outcome().hashes, alone.outcome().hashes);
    const Json load = MeasuredIn(ran)["background_load"];
    EXPECT_EQ(load["kind"], kind);
    EXPECT_EQ(load["threads"], 3);
    EXPECT_GE(load["units"], 3);
    EXPECT_GT(load["cpu_seconds"], 0);
  }
}

TEST(LoadedTrainingTest, ADrawOfNoneIsToldToo) {
  TrainerRequest request = SmallRequest();
  Free(request.specification, NoiseSource::kLoad);
  request.specification.sources.load_choices = {0};
  const Json load = MeasuredIn(RunTrainer(request))["background_load"];
  EXPECT_EQ(load["threads"], 0);
  EXPECT_EQ(load["units"], 0);
}

TEST(LoadedTrainingTest, ASignalEndsItWithTheTraining) {
  TrainerRequest request = SmallRequest();
  request.specification.train.epochs = 100000;
  request.specification.evaluate.every_epochs = 0;
  request.specification.Source(NoiseSource::kLoad).state = SourceState::kFixed;
  request.specification.sources.load_choices = {2};
  const Ran ran = RunTrainer(request, {.stop_after_first_progress = true});
  EXPECT_EQ(ran.exit_code, 14) << ran.output;
}

}  // namespace
}  // namespace noisefloor::trainer
