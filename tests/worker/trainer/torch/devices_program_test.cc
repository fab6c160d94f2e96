// Members on several devices, by the real program: on a processor each device is a copy of the
// weights.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/synthetic_data.h"
#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

// Every source has something to act on.
TrainerRequest RequestOn(const std::string& model, int64_t devices) {
  TrainerRequest request = SmallRequest(model);
  Specification& spec = request.specification;
  spec.model.dropout = model == "mlp" ? 0.25 : 0;
  spec.augment = {.crop_padding = 2, .flip = true, .cutout = 6};
  spec.train.shards = 4;
  spec.train.devices = devices;
  spec.train.average_decay = 0.9;
  spec.Source(NoiseSource::kPoke).state = SourceState::kFixed;
  spec.sources.poke_step = 3;
  return request;
}

Json EnvironmentOf(const Ran& ran) {
  return Json::parse(ran.outcome().environment, nullptr, false);
}

std::vector<double> LossesOf(const Ran& ran) {
  std::vector<double> values;
  for (const Record& record : ran.RecordsOf("train_loss")) values.push_back(record.value);
  return values;
}

TEST(DevicesProgramTest, AMemberHasTheSameBitsOnOneTwoAndFourDevices) {
  for (const char* model : {"small_cnn", "mlp"}) {
    const Ran alone = RunTrainer(RequestOn(model, 1));
    ASSERT_EQ(alone.exit_code, 0) << alone.output;
    for (const int64_t devices : {2, 4}) {
      const Ran ran = RunTrainer(RequestOn(model, devices));
      ASSERT_EQ(ran.exit_code, 0) << ran.output;
      EXPECT_EQ(ran.outcome().hashes, alone.outcome().hashes) << model << " " << devices;
      EXPECT_EQ(ran.outcome().metrics, alone.outcome().metrics);
      EXPECT_EQ(LossesOf(ran), LossesOf(alone));
      EXPECT_NE(
          EnvironmentOf(ran)["notes"].dump().find("train.devices: " + std::to_string(devices) +
                                                  " copies of the weights on one processor"),
          std::string::npos);
    }
    EXPECT_EQ(EnvironmentOf(alone)["notes"].dump().find("copies"), std::string::npos);
  }
}

TEST(DevicesProgramTest, SharesThatArriveFromSeveralDevicesAreCountedByTheirOrder) {
  TrainerRequest request = RequestOn("small_cnn", 4);
  Free(request.specification, NoiseSource::kReduceOrder);
  const Ran ran = RunTrainer(request);
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  const Json measured = EnvironmentOf(ran)["measured"];
  EXPECT_GE(measured.value("arrival_orders_seen", 0), 1);
  EXPECT_LE(measured.value("most_frequent_arrival_order", 99), measured.value("steps", 0));
  const Ran fixed = RunTrainer(RequestOn("small_cnn", 4));
  for (const char* name : {"init", "first_batches"}) EXPECT_EQ(ran.Hash(name), fixed.Hash(name));
}

TEST(DevicesProgramTest, AMeasurementOnSeveralEndsInTheBitsOfOne) {
  const auto measured = [](int64_t devices) {
    TrainerRequest request = SmallRequest();
    Specification& spec = request.specification;
    const Specification defaults;
    spec.data = defaults.data;
    spec.train = defaults.train;
    spec.train.batch_size = 8;
    spec.train.shards = 4;
    spec.train.devices = devices;
    spec.measure = {.steps = 3, .warmup = 1, .image_size = 16, .classes = 5};
    return RunTrainer(request);
  };
  const Ran alone = measured(1);
  const Ran two = measured(2);
  ASSERT_EQ(two.exit_code, 0) << two.output;
  EXPECT_EQ(two.outcome().hashes, alone.outcome().hashes);
  EXPECT_EQ(two.RecordsOf("plan/wall_seconds").size(), 3u);
}

// The number of devices is part of what is trained: nothing is gone on with that another member
// has left.
TEST(DevicesProgramTest, ACheckpointIsOfOneNumberOfDevices) {
  const std::string folder = NewFolder();
  const auto request_on = [](int64_t devices) {
    TrainerRequest request = RequestOn("mlp", devices);
    request.specification.train.epochs = 200;
    request.specification.evaluate.every_epochs = 0;
    return request;
  };
  const RunOptions keeps = {.arguments = {"--checkpoints=" + folder}};
  RunOptions stops = keeps;
  stops.stop_after_first_progress = true;
  const Ran stopped = RunTrainer(request_on(2), stops);
  ASSERT_EQ(stopped.outcome().cause, CauseClass::kInterrupted) << stopped.output;
  ASSERT_NE(stopped.outcome().message.find("which are kept"), std::string::npos);

  const Ran other = RunTrainer(request_on(4), keeps);
  const Ran same = RunTrainer(request_on(2), keeps);

  EXPECT_FALSE(EnvironmentOf(other)["measured"].contains("resumed_at"));
  EXPECT_TRUE(EnvironmentOf(same)["measured"].contains("resumed_at"));
  EXPECT_EQ(same.outcome().hashes, other.outcome().hashes);
}

}  // namespace
}  // namespace noisefloor::trainer
