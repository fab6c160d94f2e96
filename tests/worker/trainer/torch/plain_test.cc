// What the trainer decides without LibTorch.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/trainer_protocol/json.h"
#include "worker/devices/class_variables.h"
#include "worker/trainer/torch/hardware.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/machine.h"
#include "worker/trainer/torch/metrics.h"
#include "worker/trainer/torch/probe.h"
#include "worker/trainer/torch/reporter.h"
#include "worker/trainer/torch/schedule.h"

namespace noisefloor::trainer {
namespace {

TEST(MetricsTest, CountsByHand) {
  // Example 0: right. 1: label ranks second. 2: tie with a lower class, so second. 3: right.
  const std::vector<float> logits = {3, 1, 0, /**/ 2, 1, 0, /**/ 1, 1, 0, /**/ 0, 0, 5};
  const std::vector<int32_t> labels = {0, 1, 1, 2};

  const Metrics metrics = Measure(logits, labels, 3);

  EXPECT_DOUBLE_EQ(metrics.top1, 0.5);
  EXPECT_DOUBLE_EQ(metrics.top5, 1.0);
  EXPECT_EQ(metrics.per_class_accuracy, (std::vector<double>{1, 0, 1}));
  const double first = std::log(std::exp(3.0) + std::exp(1.0) + 1) - 3;
  const double second = std::log(std::exp(2.0) + std::exp(1.0) + 1) - 1;
  const double third = std::log(2 * std::exp(1.0) + 1) - 1;
  const double fourth = std::log(std::exp(5.0) + 2) - 5;
  EXPECT_NEAR(metrics.loss, (first + second + third + fourth) / 4, 1e-12);
}

TEST(MetricsTest, TopFiveOfTenAndAClassWithoutExamples) {
  std::vector<float> logits(20);
  for (int k = 0; k < 10; ++k) logits[k] = logits[10 + k] = static_cast<float>(k);
  const Metrics metrics = Measure(logits, std::vector<int32_t>{5, 4}, 10);
  EXPECT_DOUBLE_EQ(metrics.top5, 0.5);
  EXPECT_TRUE(std::isnan(metrics.per_class_accuracy[0]));
  EXPECT_EQ(metrics.per_class_accuracy[4], 0);
}

TEST(MetricsTest, NotANumberRanksLastAndMakesTheLossNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Metrics metrics = Measure(std::vector<float>{nan, 1, 2}, std::vector<int32_t>{0}, 3);
  EXPECT_EQ(metrics.top1, 0);
  EXPECT_FALSE(std::isfinite(metrics.loss));
}

TrainSettings WithSchedule(const std::string& name) {
  TrainSettings train;
  train.optimizer.learning_rate = 0.8;
  train.schedule.name = name;
  return train;
}

TEST(ScheduleTest, ConstantStaysAndWarmUpRisesFromNearZero) {
  TrainSettings train = WithSchedule("constant");
  EXPECT_EQ(LearningRate(train, {10, 100}, 99), 0.8);
  train.schedule.warmup_epochs = 0.4;
  EXPECT_DOUBLE_EQ(LearningRate(train, {10, 100}, 0), 0.2);
  EXPECT_DOUBLE_EQ(LearningRate(train, {10, 100}, 3), 0.8);
  EXPECT_DOUBLE_EQ(LearningRate(train, {10, 100}, 4), 0.8);
}

TEST(ScheduleTest, StepsFallAtTheirEpochs) {
  TrainSettings train = WithSchedule("step");
  train.schedule.milestones = {2, 5};
  train.schedule.factor = 0.5;
  EXPECT_EQ(LearningRate(train, {10, 100}, 19), 0.8);
  EXPECT_EQ(LearningRate(train, {10, 100}, 20), 0.4);
  EXPECT_EQ(LearningRate(train, {10, 100}, 49), 0.4);
  EXPECT_EQ(LearningRate(train, {10, 100}, 50), 0.2);
}

TEST(ScheduleTest, CosineFollowsTheCosineAfterTheWarmUp) {
  TrainSettings train = WithSchedule("cosine");
  for (int64_t step = 0; step < 100; ++step) {
    const double expected = 0.4 * (1 + std::cos(M_PI * static_cast<double>(step) / 100));
    EXPECT_NEAR(LearningRate(train, {10, 100}, step), expected, 1e-14) << step;
  }
  train.schedule.warmup_epochs = 2;
  EXPECT_DOUBLE_EQ(LearningRate(train, {10, 100}, 20), 0.8);
  EXPECT_NEAR(LearningRate(train, {10, 100}, 60), 0.4, 1e-14);
}

// The worker starts trainers with its own table of variables; another one here would give a
// person's own run of the same specification other bits.
TEST(HardwareTest, VariablesAreThoseThatTheWorkerSets) {
  for (const std::string vendor : {"intel", "amd", "other"}) {
    for (const std::string set : {"sse", "avx2", "avx512"}) {
      const std::string name = "cpu-" + vendor + "-" + set;
      const auto hardware = ParseHardwareClass(name);
      ASSERT_TRUE(hardware.ok()) << name;
      EXPECT_EQ(hardware->vendor, vendor);
      Variables own;
      for (const Variable& variable : hardware->variables) own[variable.name] = variable.value;
      own["CUDA_VISIBLE_DEVICES"] = "";  // The worker also hides GPUs from CPU classes.
      EXPECT_EQ(own, *VariablesOf({.hardware_class = name})) << name;
    }
  }
  const auto gpu = ParseHardwareClass("nvidia-h200");
  EXPECT_TRUE(gpu->gpu);
  Variables own = {{"CUDA_VISIBLE_DEVICES", "GPU-1"}};
  for (const Variable& variable : gpu->variables) own[variable.name] = variable.value;
  EXPECT_EQ(own, *VariablesOf({.hardware_class = "nvidia-h200", .gpu_uuid = "GPU-1"}));
  EXPECT_TRUE(ParseHardwareClass("")->variables.empty());
}

TEST(HardwareTest, ClassesSayWhatLibTorchAnswersThen) {
  EXPECT_EQ(ParseHardwareClass("cpu-amd-sse")->aten_capability, "DEFAULT");
  EXPECT_EQ(ParseHardwareClass("cpu-amd-avx2")->aten_capability, "AVX2");
  EXPECT_EQ(ParseHardwareClass("cpu-intel-avx512")->aten_capability, "AVX512");
}

TEST(HardwareTest, OtherNamesAreRefused) {
  for (const char* name : {"cpu-amd-avx", "cpu-arm-neon", "nvidia-", "gpu", "cpu-intel"}) {
    EXPECT_EQ(Message(ParseHardwareClass(name).status()),
              "hardware_class: '" + std::string(name) +
                  "'; expected cpu-VENDOR-sse, -avx2 or -avx512 with vendor intel, amd or other, "
                  "or nvidia-MODEL");
  }
}

TEST(ProbeTest, ReadsInstructionSetAndKernelsFromTheVerboseOutput) {
  const Json observed = ParseVerboseOutput(
      "onednn_verbose,v1,info,oneDNN v3.10.2\n"
      "onednn_verbose,v1,info,cpu,isa:Intel AVX2\n"
      "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv:avx2,forward_training,src\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx2,backward_weights,src\n"
      "MKL_VERBOSE oneMKL 2024.0 Product build\n"
      "MKL_VERBOSE SGEMM(N,N,64,64,64) 1.2us CNR:AVX2 Dyn:1 FastMM:1 TID:0  NThr:1\n");
  EXPECT_EQ(observed["onednn_isa"], "Intel AVX2");
  EXPECT_EQ(observed["onednn_convolutions"], Json::array({"brgconv:avx2", "jit:avx2"}));
  EXPECT_EQ(observed["mkl"], "oneMKL 2024.0 Product build");
  EXPECT_EQ(observed["mkl_cnr"], "AVX2");
}

TEST(ProbeTest, SaysSoWhenNothingWasObserved) {
  EXPECT_TRUE(ParseVerboseOutput("")["onednn_isa"].is_null());
  EXPECT_TRUE(ObserveLibraries("/nonexistent").contains("error"));
}

TEST(MachineTest, NamesTheProcessorAndShowsNoForeignVariables) {
  setenv("NOISEFLOOR_TOKEN", "secret", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_FALSE(MachineJson()["cpu_model"].get<std::string>().empty());
  EXPECT_GE(MachineJson()["cores_allowed"].get<int>(), 1);
  EXPECT_EQ(VariablesJson()["OMP_NUM_THREADS"], "1");
  EXPECT_FALSE(VariablesJson().contains("NOISEFLOOR_TOKEN"));
}

// The events that a reporter wrote, through a pipe.
class ReporterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    ASSERT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  }
  void TearDown() override {
    if (ends_[0] >= 0) close(ends_[0]);
    close(ends_[1]);
  }
  std::vector<TrainerEvent> Events() {
    std::string text(1 << 20, '\0');
    const ssize_t n = read(ends_[0], text.data(), text.size());
    text.resize(n < 0 ? 0 : static_cast<size_t>(n));
    std::vector<TrainerEvent> events;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      const auto event = EventFromJson(text.substr(begin, end - begin));
      EXPECT_TRUE(event.ok()) << event.status().message();
      if (event.ok()) events.push_back(*event);
      begin = end + 1;
    }
    return events;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(ReporterTest, RecordsAreNumberedFromOneWithoutGaps) {
  Reporter reporter(ends_[1]);
  reporter.Flush();  // Nothing waits: nothing is written.
  reporter.Add({1, 0.5, "train_loss", 2.0});
  reporter.Progress(1, 2);
  reporter.Add({2, 1.0, "train_loss", std::numeric_limits<double>::infinity()});
  OutcomeEvent outcome;
  outcome.kind = OutcomeEvent::Kind::kDone;
  outcome.environment = "{}";
  reporter.Outcome(outcome);

  const auto events = Events();

  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(std::get<RecordsEvent>(events[0]).sequence, 1u);
  EXPECT_EQ(std::get<ProgressEvent>(events[1]).step_count, 2);
  EXPECT_EQ(std::get<RecordsEvent>(events[2]).sequence, 2u);
  EXPECT_TRUE(std::isinf(std::get<RecordsEvent>(events[2]).records[0].value));
  EXPECT_TRUE(reporter.told_outcome());
}

TEST_F(ReporterTest, AReaderThatHasGoneIsKeptAsAStatus) {
  signal(SIGPIPE, SIG_IGN);
  close(std::exchange(ends_[0], -1));
  Reporter reporter(ends_[1]);
  reporter.Progress(1, 2);
  EXPECT_EQ(reporter.status().code(), absl::StatusCode::kUnavailable);
}

TEST(IntakeTest, ExampleSpecificationPassesItsOwnChecks) {
  const auto again = SpecificationFromJson(SpecificationToJson(ExampleSpecification()));
  EXPECT_TRUE(again.ok()) << again.status().message();
}

}  // namespace
}  // namespace noisefloor::trainer
