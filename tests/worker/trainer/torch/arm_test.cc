// What a measurement's arms are made of: the batch that is drawn, what is held still, the step that
// is timed, and the switches under which it is.
#include "worker/trainer/torch/step/arm.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/philox.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/model/host_tensors.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/measure.h"

namespace noisefloor::trainer {
namespace {

// 8 images of 16 x 16 in five classes.
Specification Measured(const std::string& model) {
  Specification spec;
  spec.model = {.name = model, .hidden = 16};
  spec.train.batch_size = 8;
  spec.train.optimizer.learning_rate = 0.1;
  spec.train.optimizer.momentum = 0.9;
  spec.measure = {.steps = 4, .warmup = 0, .image_size = 16, .classes = 5};
  return spec;
}

TEST(ArmTest, ABatchIsDrawnElementByElement) {
  Specification spec = Measured("small_cnn");
  spec.train.batch_size = 3;
  spec.measure.image_size = 5;
  spec.Source(NoiseSource::kDataOrder).seed = 11;
  const PhiloxStream pixels(11, StreamOf("measure.images")), labels(11, StreamOf("measure.labels"));

  const Examples drawn = DrawBatch(spec, at::kCPU);

  EXPECT_EQ(drawn.images.sizes(), (std::vector<int64_t>{3, 3, 5, 5}));
  EXPECT_TRUE(drawn.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  const std::vector<float> values = HostValues(drawn.images);
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], UniformFloat(pixels.Word(i))) << i;
  }
  ASSERT_EQ(drawn.labels.sizes(), (std::vector<int64_t>{3}));
  for (int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(drawn.labels[i].item<int64_t>(), BelowOf(labels.Word(static_cast<uint64_t>(i)), 5));
  }
  spec.train.loss = "binary_cross_entropy";
  const at::Tensor attributes = DrawBatch(spec, at::kCPU).labels;
  ASSERT_EQ(attributes.sizes(), (std::vector<int64_t>{3, 5}));
  const std::vector<float> answers = HostValues(attributes);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i], static_cast<float>(BelowOf(labels.Word(i), 2))) << i;
  }
}

TEST(ArmTest, TheDeterministicOneHasNoPhysicalSourceThatIsFree) {
  Specification freed;
  for (const NoiseSource source : {NoiseSource::kKernels, NoiseSource::kAutotune,
                                   NoiseSource::kReduceOrder, NoiseSource::kDropout}) {
    freed.Source(source).state = SourceState::kFree;
  }
  const Specification held = HeldStill(freed);
  const SwitchPlan plan = PlanSwitches(held, 1);
  EXPECT_TRUE(plan.deterministic);
  EXPECT_FALSE(plan.autotune);
  EXPECT_EQ(held.Source(NoiseSource::kReduceOrder).state, SourceState::kFixed);
  EXPECT_EQ(held.Source(NoiseSource::kDropout).state, SourceState::kFree) << "it is drawn";
}

// Of two shards: batch norm with its running statistics, and masks of dropout that each step has
// anew.
TEST(ArmTest, ItsStepsAreThoseOfATraining) {
  at::set_num_threads(1);
  for (const std::string model : {"small_cnn", "mlp"}) {
    SCOPED_TRACE(model);
    Specification spec = Measured(model);
    spec.model.dropout = model == "mlp" ? 0.5 : 0.0;
    spec.train.shards = 2;
    const Streams streams = MakeStreams(spec);
    const Examples batch = DrawBatch(spec, at::kCPU);
    Arm arm(kPlanArm, spec, streams, PlanSwitches(spec, 1), {batch});

    const ModelShape shape{3, 16, 16, 5};
    const auto trained = MakeModel(spec.model, shape, at::kCPU);
    InitWeights(*trained, spec.model.init, streams.init, nullptr);
    GradientShards shards(ShardOptionsOf(spec, streams, 1, {}),
                          Replicas(spec.model, shape, *trained, 2));
    Update update(spec.train, trained->ParameterTensors(), {}, trained->Rates(1));
    for (int64_t step = 0; step < 3; ++step) {
      arm.Step();
      const auto& gradients = shards.Compute(8, step, [&](int64_t first, int64_t count, size_t) {
        return Examples{batch.images.narrow(0, first, count), batch.labels.narrow(0, first, count)};
      });
      update.Step(gradients, 0.1);
      shards.UpdateRunningStatistics();
      EXPECT_EQ(arm.Loss(), shards.loss().item<double>()) << step;
    }
    EXPECT_EQ(HostTensors::ParametersAndBuffers(arm.model()).Hash(),
              HostTensors::ParametersAndBuffers(*trained).Hash());
  }
}

// A loss that is not finite ends a measurement behind a round: the switches are then still those of
// the arm that came last in it.
TEST(MeasuredRoundTest, EachArmTakesItsStepWithItsOwnSwitches) {
  Specification spec = Measured("small_cnn");
  spec.Source(NoiseSource::kKernels).state = SourceState::kFree;
  spec.train.optimizer.learning_rate = 1e30;
  const SystemClock clock;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const auto& [seed, last] : {std::pair<uint64_t, size_t>{0, 0}, {3, 1}}) {
    for (int64_t round = 0; round < spec.measure.steps; ++round) {
      ASSERT_EQ(RoundOrder(seed, round)[1], last) << "whenever it ends";
    }
    spec.Source(NoiseSource::kDataOrder).seed = seed;
    const Streams streams = MakeStreams(spec);
    const SwitchPlan free = PlanSwitches(spec, 1);
    Reporter reporter(nowhere);
    const auto report = Measure({spec, streams, free, {at::kCPU}, clock}, reporter);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_EQ(report->ending, Ending::kDiverged);
    EXPECT_EQ(at::globalContext().deterministicAlgorithms(), last == 0);
  }
  close(nowhere);
  EXPECT_TRUE(CheckReadings(SetSwitches({.threads = 1})).ok());
}

TEST(MeasuredRoundTest, TheLossThatIsNotFiniteIsTheOneThatIsTold) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ToldLoss(2, 3), 2);
  EXPECT_EQ(ToldLoss(2, infinite), infinite);
  EXPECT_EQ(ToldLoss(infinite, 3), infinite);
  EXPECT_EQ(ToldLoss(-infinite, infinite), -infinite);
  EXPECT_TRUE(std::isnan(ToldLoss(2, std::nan(""))));
}

}  // namespace
}  // namespace noisefloor::trainer
