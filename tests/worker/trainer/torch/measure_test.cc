// Members that measure what determinism costs: what they do and say. How long a step took is
// nobody's promise, and no test's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/philox.h"
#include "common/base/seed.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json_reader.h"
#include "tests/worker/trainer/torch/trainer_process.h"

namespace noisefloor::trainer {
namespace {

// 6 timed rounds behind 2 others, of 8 images of 16 x 16. There are no data.
TrainerRequest MeasureRequest() {
  TrainerRequest request = SmallRequest();
  request.data_root = "";
  Specification& spec = request.specification;
  const Specification defaults;
  spec.data = defaults.data;
  spec.train = defaults.train;
  spec.train.batch_size = 8;
  spec.train.optimizer.learning_rate = 0.01;
  spec.measure = {.steps = 6, .warmup = 2, .image_size = 16, .classes = 5};
  return request;
}

// Metrics of all records, as they came.
std::vector<std::string> MetricsOf(const Ran& ran) {
  std::vector<std::string> metrics;
  for (const TrainerEvent& event : ran.events) {
    if (const auto* records = std::get_if<RecordsEvent>(&event)) {
      for (const Record& record : records->records) metrics.push_back(record.metric);
    }
  }
  return metrics;
}

Json KernelsOf(const TrainerRequest& request) {
  std::ifstream file(request.work_directory + "/kernels.json");
  std::stringstream text;
  text << file.rdbuf();
  return Json::parse(text.str(), nullptr, false);
}

Json MeasuredOf(const Ran& ran) {
  return Json::parse(ran.outcome().environment, nullptr, false).value("measured", Json::object());
}

int64_t LaunchesOf(const Json& kernels, const std::string& part) {
  int64_t launches = 0;
  for (const Json& kernel : kernels) {
    if (kernel[0].get<std::string>().find(part) != std::string::npos) {
      launches += kernel[1].get<int64_t>();
    }
  }
  return launches;
}

TEST(MeasureTest, EachRoundHasBothArmsInTheOrderThatItsSeedSays) {
  const TrainerRequest request = MeasureRequest();
  const Ran ran = RunTrainer(request);
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDone);
  EXPECT_EQ(ran.hello().data_identity, "") << "nothing was read";

  const PhiloxStream rounds(request.specification.Source(NoiseSource::kDataOrder).seed,
                            StreamOf("measure.rounds"));
  std::vector<std::string> expected;
  int plans_first = 0;
  for (uint64_t round = 2; round < 8; ++round) {
    const bool plan_first = rounds.Word(round) % 2 == 1;
    plans_first += plan_first ? 1 : 0;
    for (const bool plan : {plan_first, !plan_first}) {
      expected.push_back(plan ? "plan/wall_seconds" : "deterministic/wall_seconds");
    }
  }
  EXPECT_EQ(MetricsOf(ran), expected);
  EXPECT_TRUE(plans_first > 0 && plans_first < 6) << "this seed has both orders";
  double seconds = 0;
  for (const char* metric : {"deterministic/wall_seconds", "plan/wall_seconds"}) {
    const std::vector<Record> records = ran.RecordsOf(metric);
    ASSERT_EQ(records.size(), 6u);
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].step, static_cast<int64_t>(i) + 1) << "the round";
      EXPECT_GT(records[i].value, 0);
      seconds += records[i].value;
    }
  }
  EXPECT_NEAR(ran.outcome().train_seconds, seconds, 1e-9) << "of all timed steps";
  std::vector<int64_t> steps;
  for (const TrainerEvent& event : ran.events) {
    const auto* progress = std::get_if<ProgressEvent>(&event);
    if (progress == nullptr) continue;
    steps.push_back(progress->step);
    EXPECT_EQ(progress->step_count, 16);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 4, 6, 8, 10, 12, 14, 16})) << "those of both arms";
}

TEST(MeasureTest, OtherSeedsOfTheOrderGiveOtherRounds) {
  TrainerRequest request = MeasureRequest();
  request.specification.measure.steps = 30;
  const std::vector<std::string> one = MetricsOf(RunTrainer(request));
  EXPECT_EQ(MetricsOf(RunTrainer(request)), one);
  Free(request.specification, NoiseSource::kDataOrder, 4);
  EXPECT_NE(MetricsOf(RunTrainer(request)), one);
}

// On a CPU the switches change nothing; with four shards the order in which they are added does,
// where it varies.
TEST(MeasureTest, ArmsThatComputeTheSameEndInTheSameBits) {
  TrainerRequest request = MeasureRequest();
  Free(request.specification, NoiseSource::kKernels);
  Free(request.specification, NoiseSource::kAutotune);
  Free(request.specification, NoiseSource::kReduceOrder);
  const Ran ran = RunTrainer(request);
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.Hash("deterministic/weights"), ran.Hash("plan/weights"));
  EXPECT_NE(ran.Hash("deterministic/weights"), ran.Hash("init"));
  EXPECT_EQ(ran.outcome().hashes.size(), 3u);

  const Ran again = RunTrainer(request);
  EXPECT_EQ(again.outcome().hashes, ran.outcome().hashes);
  EXPECT_EQ(again.outcome().metrics, ran.outcome().metrics);
}

// The shifts of a stem that nothing was whitened for begin at 0, and stay there at a rate of 0.
TEST(MeasureTest, StepsKeepToTheRatesOfParameters) {
  TrainerRequest request = MeasureRequest();
  request.specification.model.name = "resnet9_whitened";
  request.specification.model.width = 2;
  std::set<std::string> weights;
  for (const double rate : {0.0, 1.0, 4.0}) {
    request.specification.train.optimizer.bias_rate = rate;
    const Ran ran = RunTrainer(request);
    ASSERT_EQ(ran.exit_code, 0) << ran.output;
    weights.insert(ran.Hash("plan/weights"));
  }
  EXPECT_EQ(weights.size(), 3u);
}

// The steps that are measured are those of a training: the same bits come of as many of them.
TEST(MeasureTest, AnArmTakesTheStepsOfATraining) {
  TrainerRequest request = MeasureRequest();
  const Ran few = RunTrainer(request);
  request.specification.measure.steps = 3;
  request.specification.measure.warmup = 5;
  EXPECT_EQ(RunTrainer(request).Hash("plan/weights"), few.Hash("plan/weights"))
      << "only the clock knows which rounds are timed";
  request.specification.measure.warmup = 6;
  EXPECT_NE(RunTrainer(request).Hash("plan/weights"), few.Hash("plan/weights"));
}

TEST(MeasureTest, TheDeterministicArmAddsByRankWhateverThePlanFrees) {
  TrainerRequest request = MeasureRequest();
  request.specification.train.shards = 4;
  request.specification.train.precision = "fp64";  // Of which a loss shows every bit.
  request.specification.measure.steps = 40;
  const Ran fixed = RunTrainer(request);
  Free(request.specification, NoiseSource::kReduceOrder);
  const Ran free = RunTrainer(request);
  ASSERT_EQ(free.exit_code, 0) << free.output;
  EXPECT_EQ(free.Hash("deterministic/weights"), fixed.Hash("deterministic/weights"));
  EXPECT_EQ(free.outcome().metrics, fixed.outcome().metrics) << "the deterministic arm's loss";
  EXPECT_NE(free.Hash("deterministic/weights"), free.Hash("plan/weights"))
      << "in 42 steps of four threads all came by rank";
}

TEST(MeasureTest, KernelsAreNamedWithTheirLaunches) {
  TrainerRequest request = MeasureRequest();
  for (const int64_t shards : {1, 4}) {
    request.specification.train.shards = shards;
    ASSERT_EQ(RunTrainer(request).exit_code, 0);
    const Json kernels = KernelsOf(request);
    EXPECT_EQ(kernels.value("device", ""), "cpu");
    EXPECT_FALSE(kernels.contains("error")) << kernels["error"];
    const int64_t steps = kernels.value("profiled_steps", int64_t{0});
    ASSERT_GT(steps, 0);
    for (const char* arm : {"deterministic", "plan"}) {
      // Three convolutions in each shard of each step, once forward and once back.
      EXPECT_EQ(LaunchesOf(kernels["arms"][arm], "aten::convolution_backward"), 3 * shards * steps);
      EXPECT_EQ(LaunchesOf(kernels["primitives"][arm], "forward_training"), 3 * shards * steps);
      EXPECT_EQ(LaunchesOf(kernels["arms"][arm], "aten::cross_entropy_loss"), shards * steps);
    }
  }
}

// What a step of the settings has, both arms have, as often as it is due.
TEST(MeasureTest, StepsAreOfTheLossTheScaleTheLimitAndTheAverageThatAreAskedFor) {
  TrainerRequest request = MeasureRequest();
  TrainSettings& train = request.specification.train;
  train.loss = "binary_cross_entropy";
  train.precision = "fp16";
  train.clip_norm = 0.1;
  train.average_decay = 0.9;
  const Ran ran = RunTrainer(request);
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(ran.Hash("deterministic/weights"), ran.Hash("plan/weights"));
  EXPECT_NE(ran.Hash("plan/weights"), ran.Hash("init"));
  const Json kernels = KernelsOf(request);
  const int64_t steps = kernels.value("profiled_steps", int64_t{0});
  ASSERT_GT(steps, 0);
  for (const char* arm : {"deterministic", "plan"}) {
    const Json& names = kernels["arms"][arm];
    EXPECT_EQ(LaunchesOf(names, "aten::binary_cross_entropy_with_logits"), steps);
    EXPECT_EQ(LaunchesOf(names, "aten::cross_entropy_loss"), 0);
    EXPECT_EQ(LaunchesOf(names, "aten::_amp_foreach_non_finite_check_and_unscale_"), steps);
    EXPECT_EQ(LaunchesOf(names, "aten::_foreach_norm"), steps);
    EXPECT_EQ(LaunchesOf(names, "aten::_foreach_lerp_"), steps);
  }
}

TEST(MeasureTest, ArmsHaveTheArithmeticThatIsAskedFor) {
  TrainerRequest request = MeasureRequest();
  std::set<std::string> weights;
  std::set<std::string> inits;
  for (const char* precision : {"fp32", "bf16", "fp16", "fp64"}) {
    request.specification.train.precision = precision;
    const Ran ran = RunTrainer(request);
    ASSERT_EQ(ran.exit_code, 0) << precision << ran.output;
    EXPECT_EQ(ran.Hash("deterministic/weights"), ran.Hash("plan/weights")) << precision;
    weights.insert(ran.Hash("plan/weights"));
    inits.insert(ran.Hash("init"));
  }
  EXPECT_EQ(weights.size(), 4u);
  EXPECT_EQ(inits.size(), 1u) << "all begin with the same floats";
}

TEST(MeasureTest, StepsThatMoveNothingAreTold) {
  TrainerRequest request = MeasureRequest();
  request.specification.train.precision = "fp16";
  EXPECT_EQ(MeasuredOf(RunTrainer(request)).value("skipped_steps", int64_t{0}), 0);
  request.specification.train.loss_scale.initial = 16777216;  // Of fp16 the largest is 65504.
  const int64_t skipped = MeasuredOf(RunTrainer(request)).value("skipped_steps", int64_t{0});
  EXPECT_GT(skipped, 0);
  EXPECT_EQ(skipped % 2, 0) << "both arms alike";
}

// Steps move nothing until the loss scale has fallen far enough; the first that moves anything
// makes the next loss what it is.
TEST(MeasureTest, AMeasurementThatDivergesTellsWhatItHasSeen) {
  TrainerRequest request = MeasureRequest();
  request.specification.measure.steps = 40;
  request.specification.train.precision = "fp16";
  request.specification.train.loss_scale.initial = 16777216;
  request.specification.train.optimizer.learning_rate = 1e30;
  const Ran ran = RunTrainer(request);
  ASSERT_EQ(ran.outcome().kind, Outcome::Kind::kDiverged) << ran.output;
  EXPECT_GT(MeasuredOf(ran).value("skipped_steps", int64_t{0}), 0);
  EXPECT_EQ(ran.outcome().hashes.size(), 3u);
  EXPECT_NE(ran.Hash("plan/weights"), ran.Hash("init"));
}

TEST(MeasureTest, LossesThatAreNotFiniteAreToldAndNotTimed) {
  TrainerRequest request = MeasureRequest();
  request.specification.train.optimizer.learning_rate = 1e30;
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.outcome().kind, Outcome::Kind::kDiverged);
  EXPECT_TRUE(ran.outcome().message.ends_with("with a smaller learning rate it stays so longer"))
      << ran.outcome().message;
  EXPECT_FALSE(std::isfinite(ran.outcome().metrics.at("loss")));
  EXPECT_EQ(ran.outcome().hashes.size(), 3u);
}

TEST(MeasureTest, AStopIsObeyedBetweenTwoSteps) {
  TrainerRequest request = MeasureRequest();
  request.specification.measure.steps = 10000;
  const Ran ran = RunTrainer(request, {.stop_after_first_progress = true});
  EXPECT_EQ(ran.exit_code, ExitCodeOf(CauseClass::kInterrupted));
  EXPECT_EQ(ran.outcome().cause, CauseClass::kInterrupted);
}

TEST(MeasureTest, ImagesThatAreTooSmallAreRefused) {
  TrainerRequest request = MeasureRequest();
  request.specification.model.name = "inception_v3";
  const Ran ran = RunTrainer(request);
  EXPECT_EQ(ran.exit_code, ExitCodeOf(CauseClass::kBadSpecification));
  EXPECT_EQ(ran.outcome().message,
            "measure.image_size: inception_v3 needs images of at least 75 x 75 pixels, "
            "measure.image_size has 16 x 16");
}

}  // namespace
}  // namespace noisefloor::trainer
