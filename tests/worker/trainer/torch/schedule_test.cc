// The schedules against what PyTorch's and Keras' give (optim_reference/*schedules.json), by hand
// at their corners; and which devices have which arithmetic.
#include "worker/trainer/torch/optim/schedule.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "common/trainer_protocol/json_reader.h"
#include "worker/trainer/torch/facts/hardware.h"

namespace noisefloor::trainer {
namespace {

ScheduleSettings SettingsOf(const Json& json) {
  ScheduleSettings schedule;
  schedule.name = json["name"];
  if (json.contains("milestones")) {
    for (const Json& milestone : json["milestones"]) schedule.milestones.push_back(milestone);
  }
  schedule.factor = json.value("factor", schedule.factor);
  schedule.factors = json.value("factors", schedule.factors);
  schedule.every_epochs = json.value("every_epochs", schedule.every_epochs);
  schedule.power = json.value("power", schedule.power);
  schedule.start = json.value("start", schedule.start);
  schedule.peak = json.value("peak", schedule.peak);
  schedule.end = json.value("end", schedule.end);
  return schedule;
}

struct Case {
  const char* file;
  uint64_t bits;  // s = 1099511628211 s + the rate's bits, over all rates in their order.
};
class ScheduleReferenceTest : public testing::TestWithParam<Case> {};

// PyTorch's schedulers multiply the last rate again, which gathers rounding. The bits are those
// that noisefloor.member's learning_rate has: tests/worker/python/parts_test.py.
TEST_P(ScheduleReferenceTest, EveryStepHasTheRateOfPython) {
  std::ifstream file(std::string(std::getenv("NOISEFLOOR_SOURCE")) +
                     "/tests/worker/trainer/torch/optim_reference/" + GetParam().file + ".json");
  const Json cases = Json::parse(file);
  ASSERT_GE(cases.size(), 2u);
  uint64_t bits = 0;
  for (const Json& one : cases) {
    TrainSettings train;
    train.optimizer.learning_rate = 0.8;
    train.schedule = SettingsOf(one);
    const Schedule schedule(train, {4, 36});
    ASSERT_EQ(one["rates"].size(), 36u);
    for (int64_t step = 0; step < 36; ++step) {
      const double rate = schedule.RateAt(step);
      EXPECT_NEAR(rate, one["rates"][static_cast<size_t>(step)].get<double>(), 1e-14)
          << train.schedule.name << " " << step;
      bits = bits * 1099511628211u + std::bit_cast<uint64_t>(rate);
    }
  }
  EXPECT_EQ(bits, GetParam().bits);
}

INSTANTIATE_TEST_SUITE_P(Files, ScheduleReferenceTest,
                         testing::Values(Case{"schedules", 18064884016399333438u},
                                         Case{"keras_schedules", 15669270919180636187u}),
                         [](const auto& info) { return std::string(info.param.file); });

// Bits, by exact arithmetic: each is a product that doubles hold.
TEST(ScheduleTest, CornersAreExact) {
  TrainSettings train;
  train.optimizer.learning_rate = 0.5;
  train.schedule.name = "staircase";
  train.schedule.every_epochs = 10;
  train.schedule.factor = 0.5;
  EXPECT_EQ(LearningRate(train, {4, 400}, 39), 0.5);
  EXPECT_EQ(LearningRate(train, {4, 400}, 40), 0.25);
  EXPECT_EQ(LearningRate(train, {4, 400}, 399), 0.5 / 512);

  train.schedule.name = "triangular";
  train.schedule.start = 0.25;
  train.schedule.peak = 0.5;
  train.schedule.end = 0.0;
  EXPECT_EQ(LearningRate(train, {4, 16}, 0), 0.125);
  EXPECT_EQ(LearningRate(train, {4, 16}, 4), 0.5 * 0.625);
  EXPECT_EQ(LearningRate(train, {4, 16}, 8), 0.5);
  EXPECT_EQ(LearningRate(train, {4, 16}, 15), 0.0625);
  train.schedule.peak = 0;  // Falls from the first step on.
  EXPECT_EQ(LearningRate(train, {4, 16}, 0), 0.5);
  train.schedule.peak = 1;  // Rises to the last step.
  EXPECT_EQ(LearningRate(train, {4, 16}, 15), 0.5 * (0.25 + 0.75 * 15 / 16));
}

TEST(ScheduleTest, PolynomialBeginsAfterTheWarmUp) {
  TrainSettings train;
  train.optimizer.learning_rate = 1;
  train.schedule.name = "polynomial";
  train.schedule.power = 3;
  train.schedule.end = 0.5;
  train.schedule.warmup_epochs = 1;
  EXPECT_EQ(LearningRate(train, {4, 12}, 1), 0.5);
  EXPECT_EQ(LearningRate(train, {4, 12}, 4), 1);
  EXPECT_EQ(LearningRate(train, {4, 12}, 8), 0.5 + 0.5 * 0.125);
}

TEST(ScheduleTest, AWarmUpHasWholeSteps) {
  TrainSettings train;
  train.optimizer.learning_rate = 6;
  train.schedule.name = "constant";
  train.schedule.warmup_epochs = 0.25;  // 2.75 steps: 3.
  EXPECT_DOUBLE_EQ(LearningRate(train, {11, 22}, 1), 4);
  EXPECT_EQ(LearningRate(train, {11, 22}, 2), 6);
  train.schedule.warmup_epochs = 0.5;  // 5.5: 6.
  EXPECT_EQ(LearningRate(train, {11, 22}, 2), 3);
  EXPECT_EQ(LearningRate(train, {11, 22}, 5), 6);
  train.schedule.warmup_epochs = 0.2;  // 2.2: 2.
  EXPECT_EQ(LearningRate(train, {11, 22}, 0), 3);
  EXPECT_EQ(LearningRate(train, {11, 22}, 1), 6);
}

TEST(PrecisionOfDevicesTest, IsRefusedWhereThereIsNone) {
  const Json v100 = {{"compute_capability", "7.0"}}, h200 = {{"compute_capability", "9.0"}};
  const auto said = [](std::string_view precision, const Json& gpu) {
    return Message(CheckPrecision(precision, gpu));
  };
  for (const char* precision : {"fp32", "fp16", "fp64"}) {
    EXPECT_TRUE(CheckPrecision(precision, v100).ok());
    EXPECT_TRUE(CheckPrecision(precision, nullptr).ok());
  }
  EXPECT_TRUE(CheckPrecision("bf16", nullptr).ok());
  EXPECT_TRUE(CheckPrecision("bf16", h200).ok());
  EXPECT_TRUE(CheckPrecision("tf32", h200).ok());
  for (const char* first : {"8.0", "10.0"}) {
    EXPECT_TRUE(CheckPrecision("bf16", {{"compute_capability", first}}).ok()) << first;
  }
  EXPECT_EQ(said("tf32", nullptr),
            "train.precision: tf32 is an arithmetic of GPUs, this is a processor");
  EXPECT_EQ(said("tf32", v100),
            "train.precision: tf32 needs a GPU of compute capability 8.0 or more, this one has "
            "7.0");
  EXPECT_EQ(said("bf16", Json::object()),
            "train.precision: bf16 needs a GPU of compute capability 8.0 or more, this one has "
            "none that it tells");
}

}  // namespace
}  // namespace noisefloor::trainer
