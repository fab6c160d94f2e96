// What the trainer decides without LibTorch.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <limits>
#include <list>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/trainer_protocol/json.h"
#include "tests/support/variable.h"
#include "worker/devices/class_variables.h"
#include "worker/trainer/torch/facts/hardware.h"
#include "worker/trainer/torch/facts/machine.h"
#include "worker/trainer/torch/facts/probe.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/optim/schedule.h"
#include "worker/trainer/torch/options.h"
#include "worker/trainer/torch/step/metrics.h"
#include "worker/trainer/torch/step/reporter.h"
#include "worker/trainer/torch/step/signs_of_life.h"
#include "worker/trainer/torch/step/stop.h"

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

TEST(MetricsTest, AttributesAreDecidedEachByItself) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<float> logits = {2.0f, -1.0f, 3.0f, 0.5f, static_cast<float>(nan),
                                     1.0f, 0.0f,  -2.0f};
  const std::vector<uint8_t> truths = {1, 0, 1, 0, 0, 1, 0, 1};
  const AttributeMetrics metrics = MeasureAttributes(logits, truths, 2);
  EXPECT_DOUBLE_EQ(metrics.accuracy, 5.0 / 8);
  EXPECT_DOUBLE_EQ(metrics.all_right, 1.0 / 4);
  EXPECT_DOUBLE_EQ(metrics.by_truth.at(0), 2.0 / 4);
  EXPECT_DOUBLE_EQ(metrics.by_truth.at(1), 3.0 / 4);
  EXPECT_TRUE(std::isnan(metrics.loss));
}

TEST(MetricsTest, TheLossOfAttributesIsThatOfTheSigmoid) {
  const std::vector<float> logits = {0.75f, -1.5f, 4.0f};
  const std::vector<uint8_t> truths = {1, 0, 0};
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double yes = 1 / (1 + std::exp(-static_cast<double>(logits[i])));
    sum -= std::log(truths[i] == 1 ? yes : 1 - yes);
  }
  const AttributeMetrics metrics = MeasureAttributes(logits, truths, 1);
  EXPECT_NEAR(metrics.loss, sum / 3, 1e-12);
  // Where the sigmoid is 0 or 1 to every digit, the loss is still finite.
  const std::vector<float> far = {1000.0f, -1000.0f};
  EXPECT_DOUBLE_EQ(MeasureAttributes(far, std::vector<uint8_t>{0, 1}, 1).loss, 1000);
  EXPECT_TRUE(std::isnan(MeasureAttributes(far, std::vector<uint8_t>{1, 1}, 1).by_truth.at(0)));
}

TEST(MetricsTest, TopFiveOfTenAndAClassWithoutExamples) {
  std::vector<float> logits(20);
  for (int k = 0; k < 10; ++k) logits[k] = logits[10 + k] = static_cast<float>(k);
  const Metrics metrics = Measure(logits, std::vector<int32_t>{5, 4}, 10);
  EXPECT_DOUBLE_EQ(metrics.top5, 0.5);
  EXPECT_TRUE(std::isnan(metrics.per_class_accuracy[0]));
  EXPECT_EQ(metrics.per_class_accuracy[4], 0);
}

TEST(MetricsTest, ARowWithANotANumberIsNeverRightAndMakesTheLossNotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row :
       {std::vector<float>{nan, 1, 2}, {nan, nan, nan}, {3, nan, 2}}) {
    const Metrics metrics = Measure(row, std::vector<int32_t>{0}, 3);
    EXPECT_EQ(metrics.top1, 0);
    EXPECT_EQ(metrics.top5, 0);
    EXPECT_EQ(metrics.per_class_accuracy[0], 0);
    EXPECT_FALSE(std::isfinite(metrics.loss));
  }
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

Specification OfClass(const std::string& hardware_class, SourceState kernels) {
  Specification specification;
  specification.hardware_class = hardware_class;
  specification.Source(NoiseSource::kKernels).state = kernels;
  return specification;
}

// A person's own run of a specification must have the bits that a worker's run has.
TEST(HardwareTest, AnOwnRunHasTheVariablesThatAWorkerSets) {
  for (const std::string& name : AllCpuClasses()) {
    const auto hardware = HardwareOf(OfClass(name, SourceState::kFixed));
    ASSERT_TRUE(hardware.ok()) << name;
    EXPECT_EQ(hardware->variables, *VariablesOf({.hardware_class = name})) << name;
  }
  for (const SourceState kernels : {SourceState::kFixed, SourceState::kFree}) {
    const auto hardware = HardwareOf(OfClass("nvidia-h200", kernels));
    ASSERT_TRUE(hardware.ok());
    Variables own = hardware->variables;
    own["CUDA_VISIBLE_DEVICES"] = "GPU-1";  // Which GPU it is, the worker knows.
    EXPECT_EQ(own, *VariablesOf({.hardware_class = "nvidia-h200",
                                 .gpu_uuid = "GPU-1",
                                 .kernels_fixed = kernels == SourceState::kFixed}));
  }
  Specification measured = OfClass("nvidia-h200", SourceState::kFree);
  measured.measure.steps = 1;
  EXPECT_EQ(HardwareOf(measured)->variables,
            HardwareOf(OfClass("nvidia-h200", SourceState::kFixed))->variables)
      << "it has an arm whose kernels are fixed";
}

TEST(HardwareTest, WithoutAClassNothingIsAsked) {
  const auto hardware = HardwareOf(Specification());
  ASSERT_TRUE(hardware.ok());
  EXPECT_FALSE(hardware->gpu);
  EXPECT_TRUE(hardware->variables.empty());
  EXPECT_EQ(hardware->vendor, "");
}

TEST(HardwareTest, AGpuOfAnotherModelIsRefusedByName) {
  const Json h200 = {{"name", "NVIDIA H200"}, {"memory_bytes", "150754820096"}};
  const Json small = {{"name", "NVIDIA A100-PCIE"}, {"memory_bytes", "42285268992"}};
  EXPECT_TRUE(CheckGpuClass("nvidia-h200", Json::array({h200})).ok());
  EXPECT_TRUE(CheckGpuClass("nvidia-a100-40gb", Json::array({small, h200})).ok());
  const absl::Status other = CheckGpuClass("nvidia-a100-80gb", Json::array({small}));
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(other),
            "hardware_class: the member asks for nvidia-a100-80gb, this GPU is nvidia-a100-40gb "
            "(NVIDIA A100-PCIE)");
}

TEST(HardwareTest, AGpuThatDoesNotSayWhatItIsIsLost) {
  for (const Json& gpu : {Json(nullptr), Json{{"devices_visible", 1}}}) {
    EXPECT_EQ(CheckGpuClass("nvidia-h200", Json::array({gpu})).code(),
              absl::StatusCode::kUnavailable);
  }
}

TEST(HardwareTest, AClassOfSeveralIsAllOfThem) {
  const Json h200 = {{"name", "NVIDIA H200"}, {"memory_bytes", "150754820096"}};
  const Json h100 = {{"name", "NVIDIA H100"}, {"memory_bytes", "85899345920"}};
  EXPECT_TRUE(CheckGpuClass("nvidia-h200-x2", Json::array({h200, h200})).ok());
  EXPECT_TRUE(CheckGpuClass("nvidia-h200-x2", Json::array({h200, h200, h100})).ok());
  EXPECT_EQ(Message(CheckGpuClass("nvidia-h200-x2", Json::array({h200, h100}))),
            "hardware_class: the member asks for nvidia-h200, this GPU is nvidia-h100 (NVIDIA "
            "H100)");
  const absl::Status lost = CheckGpuClass("nvidia-h200-x4", Json::array({h200, h200}));
  EXPECT_EQ(lost.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(lost), "CUDA shows 2 GPUs to this process, the member trains on 4");
}

TEST(HardwareTest, GpusThatAreNotShownAreLost) {
  EXPECT_TRUE(CheckGpusShown(4, 4).ok());
  EXPECT_TRUE(CheckGpusShown(2, 1).ok());
  EXPECT_EQ(CheckGpusShown(0, 1).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Message(CheckGpusShown(0, 1)), "CUDA shows no GPU to this process");
  EXPECT_EQ(Message(CheckGpusShown(0, 2)),
            "CUDA shows no GPU to this process, the member trains on 2");
  EXPECT_EQ(Message(CheckGpusShown(1, 4)),
            "CUDA shows 1 GPU to this process, the member trains on 4");
}

TEST(HardwareTest, EveryGpuThatCudaShowsIsDescribedInItsOrder) {
  EXPECT_EQ(GpusJson(), Json::array()) << "nobody has opened CUDA";
  const std::string script = testing::TempDir() + "nf-gpus-script";
  std::ofstream(script) << "gpu GPU-1 name=NVIDIA_H200 gib=140\n"
                           "gpu GPU-2 name=Tesla_T4 gib=15 capability=7.5\n";
  setenv("NOISEFLOOR_FAKE_GPUS", script.c_str(), 1);
  setenv("CUDA_VISIBLE_DEVICES", "GPU-2,GPU-1", 1);
  void* driver = dlopen(FAKE_CUDA, RTLD_NOW);
  ASSERT_NE(driver, nullptr) << dlerror();

  const Json gpus = GpusJson();

  ASSERT_EQ(gpus.size(), 2u) << gpus;
  EXPECT_EQ(gpus[0]["name"], "Tesla T4");
  EXPECT_EQ(gpus[0]["compute_capability"], "7.5");
  EXPECT_EQ(gpus[1]["name"], "NVIDIA H200");
  EXPECT_EQ(gpus[1]["devices_visible"], 2);
  EXPECT_EQ(GpuJson(), gpus[0]);
  dlclose(driver);
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("NOISEFLOOR_FAKE_GPUS");
  remove(script.c_str());
}

TEST(HardwareTest, VersionsAreThoseOfLibrariesThatAreOpen) {
  EXPECT_EQ(CublasVersion(), "") << "nobody has opened it";
  EXPECT_EQ(CudaRuntimeVersion(), 0);
  EXPECT_EQ(CudnnVersion(), 0);
  void* libraries = dlopen(FAKE_LIBRARIES, RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(libraries, nullptr) << dlerror();
  EXPECT_EQ(CublasVersion(), "13.1.2");
  EXPECT_EQ(CudaRuntimeVersion(), 13010);
  EXPECT_EQ(CudnnVersion(), 91302);
  dlclose(libraries);
}

TEST(ProbeTest, ReadsInstructionSetAndKernelsFromTheVerboseOutput) {
  const Json observed = ParseVerboseOutput(
      "onednn_verbose,v1,info,oneDNN v3.10.2\n"
      "onednn_verbose,v1,info,cpu,isa:Intel AVX2\n"
      "onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,brgconv:avx2,forward_training,src\n"
      "onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx2,backward_weights,src\n");
  EXPECT_EQ(observed["onednn_isa"], "Intel AVX2");
  EXPECT_EQ(observed["onednn_convolutions"], Json::array({"brgconv:avx2", "jit:avx2"}));
}

TEST(ProbeTest, SaysSoWhenNothingWasObserved) {
  EXPECT_TRUE(ParseVerboseOutput("")["onednn_isa"].is_null());
  EXPECT_TRUE(WasObserved({{"onednn_isa", "Intel AVX2"}, {"mkl_cbwr", "AVX2"}}));
  EXPECT_FALSE(WasObserved({{"onednn_isa", nullptr}, {"mkl_cbwr", "AVX2"}}));
  EXPECT_FALSE(WasObserved({{"onednn_isa", "Intel AVX2"}, {"mkl_cbwr", nullptr}}));
  EXPECT_FALSE(WasObserved(Json::object()));
}

TEST(ProbeTest, NamesMklsModesAsItsVariableDoes) {
  EXPECT_EQ(MklModeName(1), "OFF");
  EXPECT_EQ(MklModeName(10), "AVX2");
  EXPECT_EQ(MklModeName(99), "mode 99");
}

TEST(ProbeTest, HearsWhatIsWrittenOnStandardOutputAndThenPutsItBack) {
  testing::internal::CaptureStdout();
  std::printf("before, ");

  const auto heard = OutputOf([] {
    std::printf("printed, ");
    std::fflush(stdout);
    EXPECT_EQ(write(STDOUT_FILENO, "written, ", 9), 9);
    std::printf("left in the buffer");
  });

  std::printf("after");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before, after");
  ASSERT_TRUE(heard.ok()) << heard.status().message();
  EXPECT_EQ(*heard, "printed, written, left in the buffer");
}

TEST(ProbeTest, StandardOutputIsBackAfterAnException) {
  testing::internal::CaptureStdout();
  EXPECT_THROW((void)OutputOf([] {
                 std::printf("lost");
                 throw std::bad_alloc();
               }),
               std::bad_alloc);
  std::printf("after");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "after");
}

TEST(MachineTest, NamesTheProcessorAndShowsNoForeignVariables) {
  setenv("NOISEFLOOR_TOKEN", "secret", 1);
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_FALSE(MachineJson()["cpu_model"].get<std::string>().empty());
  EXPECT_GE(MachineJson()["cores_allowed"].get<int>(), 1);
  EXPECT_EQ(VariablesJson()["OMP_NUM_THREADS"], "1");
  EXPECT_FALSE(VariablesJson().contains("NOISEFLOOR_TOKEN"));
}

TEST(MachineTest, ShowsEveryVariableThatMayChangeBitsAsItIs) {
  for (const char* name :
       {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_CBWR", "OMP_DYNAMIC",
        "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING",
        "CUDNN_CONV_WSCAP_DBG", "NCCL_ALGO", "NVIDIA_TF32_OVERRIDE", "TORCH_CUDNN_V8_API_DISABLED",
        "PYTORCH_CUDA_ALLOC_CONF", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_BIND_NOT",
        "THP_MEM_ALLOC_ENABLE"}) {
    const test::Variable set(name, "a=b");
    EXPECT_EQ(VariablesJson().value(name, ""), "a=b") << name;
  }
}

TEST(MachineTest, SaysWhichHostKernelAndImageItIs) {
  utsname names = {};
  ASSERT_EQ(uname(&names), 0);
  test::Variable image("NOISEFLOOR_IMAGE", "registry/trainer:1");
  const Json machine = MachineJson();
  EXPECT_EQ(machine["image"], "registry/trainer:1");
  image.Set(std::nullopt);
  EXPECT_EQ(MachineJson()["image"], "");
  EXPECT_EQ(machine["host"], names.nodename);
  EXPECT_EQ(machine["kernel"],
            std::string(names.sysname) + " " + names.release + " " + names.machine);
  EXPECT_EQ(machine["cores_online"], sysconf(_SC_NPROCESSORS_ONLN));
}

// The events that a reporter wrote, through a pipe.
class ReporterTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    ASSERT_EQ(fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
    ASSERT_GE(fcntl(ends_[1], F_GETPIPE_SZ), 32768) << "nobody reads while a test writes";
  }
  void TearDown() override {
    if (ends_[0] >= 0) close(ends_[0]);
    if (ends_[1] >= 0) close(ends_[1]);
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
  Outcome outcome;
  outcome.kind = Outcome::Kind::kDone;
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

// Nobody has asked for it, and the next one waits.
TEST_F(ReporterTest, AThousandRecordsAreTold) {
  Reporter reporter(ends_[1]);
  for (int64_t step = 1; step <= 1001; ++step) reporter.Add({step, 0.5, "x", 2.0});
  const auto events = Events();
  ASSERT_EQ(events.size(), 1u);
  const auto& records = std::get<RecordsEvent>(events[0]).records;
  ASSERT_EQ(records.size(), 1000u);
  EXPECT_EQ(records.back().step, 1000);
}

TEST_F(ReporterTest, AReaderThatHasGoneIsKeptAsAStatus) {
  signal(SIGPIPE, SIG_IGN);
  close(std::exchange(ends_[0], -1));
  Reporter reporter(ends_[1]);
  reporter.Progress(1, 2);
  EXPECT_EQ(reporter.status().code(), absl::StatusCode::kUnavailable);
}

// Steady time that passes in a test's hand.
class SteadyClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch() + steady; }
  absl::Duration Steady() const override { return steady; }
  absl::Duration steady = absl::Hours(1);
};

TEST_F(ReporterTest, WhoReadsForLongSaysEveryTenSecondsThatItLives) {
  Reporter reporter(ends_[1]);
  SteadyClock clock;
  SignsOfLife signs(clock, reporter);
  std::vector<size_t> told;
  for (const double seconds : {0.0, 9.9, 10.0, 10.1, 19.9, 31.0, 32.0}) {
    clock.steady = absl::Hours(1) + absl::Seconds(seconds);
    EXPECT_TRUE(signs.GoOn());
    const std::vector<TrainerEvent> events = Events();
    told.push_back(events.size());
    for (const TrainerEvent& event : events) EXPECT_EQ(std::get<ProgressEvent>(event).step, 0);
  }
  EXPECT_EQ(told, (std::vector<size_t>{0, 0, 1, 0, 0, 1, 0}));
}

TEST_F(ReporterTest, WhomNobodyHearsReadsNoLonger) {
  signal(SIGPIPE, SIG_IGN);
  close(std::exchange(ends_[0], -1));
  Reporter reporter(ends_[1]);
  SteadyClock clock;
  SignsOfLife signs(clock, reporter);
  EXPECT_TRUE(signs.GoOn());
  clock.steady += absl::Seconds(10);
  (void)signs.GoOn();
  EXPECT_FALSE(signs.GoOn());
}

[[noreturn]] void StopWhileItReads() {
  WatchForStop();
  Reporter reporter(STDOUT_FILENO);
  SteadyClock clock;
  SignsOfLife signs(clock, reporter);
  if (!signs.GoOn()) std::_Exit(2);
  raise(SIGTERM);
  std::_Exit(signs.GoOn() ? 3 : 0);
}

TEST(SignsOfLifeDeathTest, AStopEndsTheReading) {
  EXPECT_EXIT(StopWhileItReads(), testing::ExitedWithCode(0), "");
}

// In state "S", a thread waits in a system call.
bool Sleeps(const std::string& thread) {
  std::ifstream file("/proc/self/task/" + thread + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "S") == 0;
}

// It is full, and nobody reads before the reporter waits for that.
TEST_F(ReporterTest, WhereADescriptorDoesNotBlockItWaitsForRoom) {
  (void)fcntl(ends_[1], F_SETPIPE_SZ, 1);
  ASSERT_EQ(fcntl(ends_[1], F_SETFL, O_NONBLOCK), 0);
  ASSERT_EQ(fcntl(ends_[0], F_SETFL, 0), 0);
  while (write(ends_[1], "\n", 1) == 1) continue;
  const std::string writer = std::to_string(gettid());
  std::atomic<bool> has_written = false;
  std::string text;
  std::thread reader([&] {
    while (!has_written && !Sleeps(writer)) std::this_thread::yield();
    char piece[512];
    for (ssize_t n = 0; (n = read(ends_[0], piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<size_t>(n));
    }
  });

  Reporter reporter(ends_[1]);
  reporter.Progress(1, 2);

  has_written = true;
  close(std::exchange(ends_[1], -1));
  reader.join();
  EXPECT_TRUE(reporter.status().ok()) << reporter.status();
  EXPECT_TRUE(text.ends_with("\n" + EventToJson(ProgressEvent{1, 2}) + "\n")) << text.size();
}

// Reads a request that never ends, on a thread that no signal interrupts; then a stop is asked for.
// The exit code says whether the reader has seen it.
[[noreturn]] void StopWhileAnotherThreadReads() {
  WatchForStop();
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stops, nullptr);
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], "{", 1) != 1) std::_Exit(2);
  std::promise<std::string> thread;
  std::thread reader([&] {
    thread.set_value(std::to_string(gettid()));
    const absl::Status status = ReadRequest(ends[0]).status();
    std::_Exit(status.code() == absl::StatusCode::kCancelled ? 0 : 3);
  });
  const std::string id = thread.get_future().get();
  const auto unread = [&] {
    int bytes = 0;
    return ioctl(ends[0], FIONREAD, &bytes) == 0 && bytes > 0;
  };
  while (unread() || !Sleeps(id)) std::this_thread::yield();
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  raise(SIGTERM);
  reader.join();
  std::_Exit(4);
}

TEST(IntakeDeathTest, AStopIsSeenWhicheverThreadTheSignalMeets) {
  EXPECT_EXIT(StopWhileAnotherThreadReads(), testing::ExitedWithCode(0), "");
}

Options Parse(std::vector<std::string> arguments) {
  std::vector<char*> argv = {const_cast<char*>("noisefloor-trainer")};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return ParseOptions(static_cast<int>(argv.size()), argv.data(), "torch-2.11-cu130");
}

TEST(OptionsTest, AMistakeIsSaidWithTheNearestOption) {
  const Options mistake = Parse({"--serve-fork"});
  EXPECT_EQ(mistake.mode, Options::Mode::kMistake);
  EXPECT_EQ(mistake.text,
            "noisefloor-trainer: unknown option --serve-fork; did you mean --serve-forks?\n"
            "See `noisefloor-trainer --help`.\n");
  EXPECT_EQ(Parse({"--data-root=/d"}).mode, Options::Mode::kMistake) << "needs --spec";
}

TEST(OptionsTest, HelpAndVersionAreTextsToPrint) {
  EXPECT_EQ(Parse({"--version"}).mode, Options::Mode::kPrint);
  EXPECT_EQ(Parse({"--version"}).text.substr(0, 19), "noisefloor-trainer ");
  EXPECT_NE(Parse({"--help"}).text.find("Exit codes: 0 done or diverged"), std::string::npos);
  EXPECT_EQ(Parse({"--help"}).text.back(), '\n');
}

TEST(OptionsTest, WhatIsNotSaidTheEnvironmentSays) {
  const std::map<std::string, std::string> variables = {{"NOISEFLOOR_DATA", "/data"},
                                                        {"NOISEFLOOR_CACHE", "/cache"},
                                                        {"NOISEFLOOR_CHECKPOINTS", "/kept"},
                                                        {"CUDA_VISIBLE_DEVICES", "GPU-1"}};
  std::list<test::Variable> set;
  for (const auto& [name, value] : variables) set.emplace_back(name, value);
  const Options unsaid = Parse({});
  const Options said =
      Parse({"--spec=s", "--work=w", "--data-root=/d", "--cache=/c", "--checkpoints=/k"});
  const test::Variable gpus("CUDA_VISIBLE_DEVICES", "");
  EXPECT_FALSE(Parse({}).gpu) << "as a worker hides them from a processor's members";
  EXPECT_TRUE(Parse({"--gpu"}).gpu);
  gpus.Set(std::nullopt);
  EXPECT_FALSE(Parse({}).gpu);
  EXPECT_TRUE(unsaid.gpu);
  EXPECT_EQ(unsaid.mode, Options::Mode::kServe);
  EXPECT_EQ(unsaid.data_root, "/data");
  EXPECT_EQ(unsaid.cache, "/cache");
  EXPECT_EQ(unsaid.checkpoints, "/kept");
  EXPECT_EQ(said.mode, Options::Mode::kDirect);
  EXPECT_EQ(said.data_root, "/d");
  EXPECT_EQ(said.cache, "/c");
  EXPECT_EQ(said.checkpoints, "/k");
}

TEST(OptionsTest, CheckpointsAreSecondsApartFromZeroToInfinity) {
  const auto every = [](const char* said, const std::vector<std::string>& arguments) {
    setenv("NOISEFLOOR_CHECKPOINT_SECONDS", said, 1);
    const Options options = Parse(arguments);
    unsetenv("NOISEFLOOR_CHECKPOINT_SECONDS");
    return options.mode == Options::Mode::kMistake ? absl::Seconds(-1) : options.checkpoint_every;
  };
  EXPECT_EQ(every("inf", {}), absl::InfiniteDuration());
  EXPECT_EQ(every("0.5", {}), absl::Milliseconds(500));
  for (const char* said : {"", "7", "5x", "nan"}) {
    SCOPED_TRACE(said);
    EXPECT_EQ(every(said, {}), absl::Seconds(said[0] == '7' ? 7 : 60));
    EXPECT_EQ(every(said, {"--checkpoint-every=inf"}), absl::InfiniteDuration());
    EXPECT_EQ(every(said, {"--checkpoint-every=0"}), absl::ZeroDuration());
    for (const char* wrong : {"nan", "-1", "-inf", "5x", "soon"}) {
      EXPECT_EQ(every(said, {std::string("--checkpoint-every=") + wrong}), absl::Seconds(-1))
          << wrong;
    }
  }
  EXPECT_NE(Parse({"--checkpoint-every=nan"}).text.find("nan: expected seconds, from 0 on, or inf"),
            std::string::npos);
}

TEST(OptionsTest, ALimitOfTheCacheThatIsNoNumberIsNotSaid) {
  constexpr uint64_t kMib = 1 << 20;
  const std::map<std::string, uint64_t> limits = {{"", 4096},  {"5", 5},    {"5x", 4096},
                                                  {"x", 4096}, {"0", 4096}, {"1073741825", 4096}};
  for (const auto& [said, mib] : limits) {
    setenv("NOISEFLOOR_CACHE_LIMIT", said.c_str(), 1);
    EXPECT_EQ(Parse({}).cache_limit_bytes, mib * kMib) << said;
    EXPECT_EQ(Parse({"--cache-limit=7"}).cache_limit_bytes, 7 * kMib) << said;
  }
  unsetenv("NOISEFLOOR_CACHE_LIMIT");
}

TEST(IntakeTest, ExampleSpecificationPassesItsOwnChecks) {
  const auto again = SpecificationFromJson(SpecificationToJson(ExampleSpecification()));
  EXPECT_TRUE(again.ok()) << again.status().message();
}

}  // namespace
}  // namespace noisefloor::trainer
