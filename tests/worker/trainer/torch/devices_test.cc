// One network on several devices: copies of the weights, on a processor, by the code that several
// GPUs are trained by.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/cuda/rehearsal.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/batches.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

std::vector<at::Device> Copies(size_t count) {
  return std::vector<at::Device>(count, at::Device(at::kCPU));
}

std::unique_ptr<Model> Mlp(const ModelShape& shape) {
  auto model = MakeModel({.name = "mlp", .hidden = 8}, shape, at::kCPU);
  SetByFormula(*model);
  return model;
}

TEST(ReplicasTest, ShardsArePlacedByRankInEqualParts) {
  const ModelShape shape{1, 4, 4, 3};
  const auto model = Mlp(shape);
  const std::vector<std::pair<size_t, std::vector<size_t>>> expected = {
      {1, {0, 0, 0, 0, 0, 0, 0, 0}},
      {2, {0, 0, 0, 0, 1, 1, 1, 1}},
      {4, {0, 0, 1, 1, 2, 2, 3, 3}},
      {8, {0, 1, 2, 3, 4, 5, 6, 7}}};
  for (const auto& [count, places] : expected) {
    const Replicas replicas({.name = "mlp", .hidden = 8}, shape, *model, 8, Copies(count));
    std::vector<size_t> found;
    for (int64_t rank = 0; rank < replicas.shards(); ++rank) {
      found.push_back(replicas.PlaceOf(rank));
    }
    EXPECT_EQ(found, places);
  }
}

// Weights are one for each device, and follow the first; running statistics are the first's alone.
TEST(ReplicasTest, EachDeviceHasWeightsOfItsOwnThatFollowTheFirst) {
  const ModelSettings settings{.name = "small_cnn"};
  const ModelShape shape{1, 8, 8, 3};
  const auto model = MakeModel(settings, shape, at::kCPU);
  SetByFormula(*model);
  const Replicas replicas(settings, shape, *model, 4, Copies(2));
  const auto weights = [&](int64_t rank) { return replicas.OfShard(rank).parameters()[0].value; };
  EXPECT_EQ(weights(0).const_data_ptr(), model->parameters()[0].value.const_data_ptr());
  EXPECT_EQ(weights(1).const_data_ptr(), weights(0).const_data_ptr());
  EXPECT_NE(weights(2).const_data_ptr(), weights(0).const_data_ptr());
  EXPECT_EQ(weights(3).const_data_ptr(), weights(2).const_data_ptr());
  EXPECT_TRUE(at::isnan(weights(2)).all().item<bool>()) << "nobody has told them yet";

  replicas.Broadcast();

  for (size_t i = 0; i < model->parameters().size(); ++i) {
    const at::Tensor& copy = replicas.OfShard(3).parameters()[i].value;
    EXPECT_TRUE(at::equal(copy, model->parameters()[i].value)) << i;
    EXPECT_EQ(copy.strides(), model->parameters()[i].value.strides()) << i;
    EXPECT_TRUE(copy.requires_grad() && copy.is_leaf());
  }
  EXPECT_TRUE(at::isnan(replicas.OfShard(2).buffers()[0].value).all().item<bool>());
}

TEST(ReplicasDeathTest, ShardsThatTheDevicesDoNotDivideAreABug) {
  const ModelShape shape{1, 4, 4, 3};
  const auto model = Mlp(shape);
  EXPECT_DEATH(Replicas({.name = "mlp", .hidden = 8}, shape, *model, 4, Copies(3)), "shards %");
}

// Everything that a training leaves.
struct Left {
  std::vector<at::Tensor> tensors;  // Weights, running statistics, what the optimiser remembers.
  std::vector<double> losses;
};

struct DevicesCase {
  std::string network;
  std::string precision = "fp32";
  int64_t side = 8;
  bool binary = false;
};

// Three steps of 8 images in 4 shards, with a poke behind the first.
Left Train(const DevicesCase& one, size_t devices) {
  const ModelShape shape{3, one.side, one.side, 10};
  ModelSettings settings{.name = one.network, .hidden = 16};
  if (one.network == "mlp" || one.network == "vit") settings.dropout = 0.25;
  const auto model = MakeModel(settings, shape, at::kCPU);
  model->ToType(WeightTypeOf(one.precision));
  SetByFormula(*model);
  TrainSettings train;
  train.precision = one.precision;
  train.optimizer.momentum = 0.9;
  train.clip_norm = 1;
  Update update(train, model->ParameterTensors(), {});
  GradientShards shards({.layers = LayerTypeOf(one.precision),
                         .binary = one.binary,
                         .batch_norm_momentum = 0.3,
                         .dropout = DropoutDraws(5)},
                        Replicas(settings, shape, *model, 4, Copies(devices)));
  const at::Tensor images = FormulaImages(8, 3, one.side);
  const at::Tensor labels = one.binary
                                ? FormulaLabels(80).reshape({8, 10}).remainder(2).to(at::kFloat)
                                : FormulaLabels(8);
  Left left;
  for (int64_t step = 0; step < 3; ++step) {
    const auto load = [&](int64_t first, int64_t count, size_t place) {
      EXPECT_EQ(place, static_cast<size_t>(first) * devices / 8) << "examples are where they go";
      return Examples{images.narrow(0, first, count), labels.narrow(0, first, count)};
    };
    update.Step(shards.Compute(8, step, load, update.loss_scale()), 0.05);
    shards.UpdateRunningStatistics();
    left.losses.push_back(shards.loss().item<double>());
    const at::NoGradGuard no_grad;
    if (step == 0) at::Tensor(model->parameters()[0].value).mul_(1.125);
  }
  for (const NamedTensor& one : model->parameters()) left.tensors.push_back(one.value.detach());
  for (const NamedTensor& one : model->buffers()) left.tensors.push_back(one.value);
  for (const NamedTensor& one : update.Export().tensors) left.tensors.push_back(one.value);
  return left;
}

TEST(DevicesTest, OneTwoAndFourEndInTheSameBits) {
  for (const DevicesCase& one :
       {DevicesCase{"small_cnn"}, DevicesCase{"mlp"}, DevicesCase{"resnet20"}, DevicesCase{"vit"},
        DevicesCase{"mobilenet", "fp32", 32}, DevicesCase{"small_cnn", "fp64"},
        DevicesCase{"small_cnn", "bf16"}, DevicesCase{"mlp", "fp16"},
        DevicesCase{"small_cnn", "fp32", 8, true}}) {
    const Left alone = Train(one, 1);
    for (const size_t devices : {2, 4}) {
      const Left several = Train(one, devices);
      SCOPED_TRACE(one.network + " " + one.precision + " " + std::to_string(devices));
      EXPECT_EQ(several.losses, alone.losses);
      ASSERT_EQ(several.tensors.size(), alone.tensors.size());
      for (size_t i = 0; i < alone.tensors.size(); ++i) {
        EXPECT_TRUE(at::equal(several.tensors[i], alone.tensors[i])) << i;
      }
    }
  }
}

// The first rank's examples come when all others' have: the order is rarely that of the ranks.
TEST(DevicesTest, SharesThatArriveAreAddedInTheOrderThatIsRecorded) {
  constexpr int64_t kShards = 4, kBatch = 8, kExamples = kBatch / kShards;
  const ModelShape shape{3, 8, 8, 10};
  const ModelSettings settings{.name = "mlp", .hidden = 16};
  const auto model = MakeModel(settings, shape, at::kCPU);
  SetByFormula(*model);
  const at::Tensor images = FormulaImages(kBatch, 3, 8);
  const at::Tensor labels = FormulaLabels(kBatch);
  const auto of = [&](int64_t first, int64_t count) {
    return Examples{images.narrow(0, first, count), labels.narrow(0, first, count)};
  };
  // Each alone: the mean of its own examples is an exact multiple of its share of the batch.
  std::vector<std::vector<at::Tensor>> shares;
  for (int64_t rank = 0; rank < kShards; ++rank) {
    GradientShards alone({}, Replicas(settings, shape, *model, 1, Copies(1)));
    shares.emplace_back();
    for (const at::Tensor& one : alone.Compute(kExamples, 0, [&](int64_t, int64_t count, size_t) {
           return of(rank * kExamples, count);
         })) {
      shares.back().push_back(one / kShards);
    }
  }

  GradientShards shards({.in_arrival_order = true},
                        Replicas(settings, shape, *model, kShards, Copies(kShards)));
  std::map<std::string, int64_t> before;
  for (int64_t step = 0; step < 20; ++step) {
    std::latch others(kShards - 1);
    const auto& sum = shards.Compute(kBatch, 0, [&](int64_t first, int64_t count, size_t) {
      first == 0 ? others.wait() : others.count_down();
      return of(first, count);
    });
    std::string order;
    for (const auto& [seen, count] : shards.arrival_orders()) {
      if (count != before[seen]) order = seen;
    }
    before = shards.arrival_orders();
    ASSERT_EQ(order.size(), 7u) << order;
    std::vector<at::Tensor> expected;
    for (const at::Tensor& one : shares[static_cast<size_t>(order[0] - '0')]) {
      expected.push_back(one.clone());
    }
    for (const size_t place : {2, 4, 6}) {
      at::_foreach_add_(expected, shares[static_cast<size_t>(order[place] - '0')]);
    }
    for (size_t i = 0; i < sum.size(); ++i) EXPECT_TRUE(at::equal(sum[i], expected[i])) << order;
  }
}

TEST(DevicesTest, OfAProcessorThereAreAsManyAsAreAskedFor) {
  const auto devices = OpenDevices(/*gpu=*/false, 4);
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(*devices, Copies(4));
}

// Each device makes the images of its shards, and they are those of the host.
TEST(DevicesTest, BatchesAreMadeWhereTheyAreTrained) {
  Dataset dataset{.name = "drawn", .classes = 10, .shape = {3, 8, 8}};
  dataset.train = {dataset.shape, std::vector<uint8_t>(20 * 192, 7), std::vector<int64_t>(20, 1)};
  Specification specification;
  specification.augment.flip = true;
  specification.train.batch_size = 8;
  const Streams streams = MakeStreams(specification);
  cuda::rehearsal::RehearsalLauncher first(1), second(1);
  auto host = TrainingBatches::Make(specification, dataset, streams);
  auto both = TrainingBatches::Make(specification, dataset, streams,
                                    {{at::kCPU, &first}, {at::kCPU, &second}});
  ASSERT_TRUE(host.ok() && both.ok());
  const auto batch = both->Next();
  ASSERT_TRUE(batch.ok());
  for (const size_t place : {size_t{0}, size_t{1}}) {
    const Examples there = both->Load(*batch, static_cast<int64_t>(place) * 4, 4, place);
    const Examples here = host->Load(*batch, static_cast<int64_t>(place) * 4, 4);
    EXPECT_TRUE(at::equal(there.images, here.images));
    EXPECT_TRUE(at::equal(there.labels, here.labels));
  }
  EXPECT_EQ(first.launches(), 1u);
  EXPECT_EQ(second.launches(), 1u);
  auto one_of_two =
      TrainingBatches::Make(specification, dataset, streams, {{at::kCPU, &first}, {at::kCPU}});
  ASSERT_TRUE(one_of_two.ok());
  (void)one_of_two->Load(*batch, 0, 4, 0);
  EXPECT_EQ(first.launches(), 1u) << "all of them have it, or none";
}

}  // namespace
}  // namespace noisefloor::trainer
