// What is told of a training: its losses, its times, how it was tested and why it ended.
#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <functional>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/json.h"
#include "worker/trainer/torch/facts/environment.h"
#include "worker/trainer/torch/failure.h"
#include "worker/trainer/torch/step/journal.h"
#include "worker/trainer/torch/step/stopwatch.h"
#include "worker/trainer/torch/step/train.h"
#include "worker/trainer/torch/try_device.h"

namespace noisefloor::trainer {
namespace {

// At most as many as a pipe takes.
std::vector<TrainerEvent> EventsToldBy(const std::function<void(Reporter&)>& work) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Reporter reporter(ends[1]);
  work(reporter);
  reporter.Flush();
  close(ends[1]);
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t n = 0; (n = read(ends[0], piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<size_t>(n));
  }
  close(ends[0]);
  std::vector<TrainerEvent> events;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto event = EventFromJson(line);
    EXPECT_TRUE(event.ok()) << event.status();
    if (event.ok()) events.push_back(*event);
  }
  return events;
}

// 43 steps an epoch: ten records of four steps each, and one of the three that are left.
TEST(JournalTest, LossesAreMeansOfTenthsOfAnEpochAndOfEpochs) {
  constexpr int64_t kEpoch = 43;
  const auto loss = [](int64_t step) { return static_cast<double>(step * step); };
  const auto mean = [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t step = begin; step < end; ++step) sum += loss(step);
    return sum / static_cast<double>(end - begin);
  };
  std::vector<std::tuple<int64_t, double, std::string, double>> expected, told;
  std::vector<std::pair<int64_t, int64_t>> ends, progress;
  const auto epoch = [](int64_t step) { return static_cast<double>(step) / kEpoch; };
  for (const int64_t first : {int64_t{0}, kEpoch}) {
    for (int64_t begin = first; begin < first + kEpoch; begin += 4) {
      const int64_t end = std::min(begin + 4, first + kEpoch);
      expected.emplace_back(end, epoch(end), "train_loss", mean(begin, end));
      ends.emplace_back(end, 2 * kEpoch);
    }
    const int64_t end = first + kEpoch;
    expected.emplace_back(end, epoch(end), "train_loss_epoch", mean(first, end));
  }

  const std::vector<TrainerEvent> events = EventsToldBy([&](Reporter& reporter) {
    Journal journal({kEpoch, 2 * kEpoch}, reporter);
    for (int64_t step = 0; step < 2 * kEpoch; ++step) {
      EXPECT_TRUE(journal.Add(step, at::scalar_tensor(loss(step), at::kFloat)));
    }
  });

  for (const TrainerEvent& event : events) {
    if (const auto* done = std::get_if<ProgressEvent>(&event)) {
      progress.emplace_back(done->step, done->step_count);
      continue;
    }
    for (const Record& r : std::get<RecordsEvent>(event).records) {
      told.emplace_back(r.step, r.epoch, r.metric, r.value);
    }
  }
  EXPECT_EQ(told, expected);
  EXPECT_EQ(progress, ends);
}

class SetClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::UnixEpoch(); }
  absl::Duration Steady() const override { return steady; }
  absl::Duration steady = absl::ZeroDuration();
};

TEST(StopwatchTest, CountsSecondsOfTheClock) {
  SetClock clock;
  const StepTime time =
      Stopwatch(at::kCPU, clock).Time([&] { clock.steady += absl::Milliseconds(1500); });
  EXPECT_EQ(time.wall_seconds, 1.5);
  EXPECT_EQ(time.device_seconds, 0);
}

// A GPU whose work takes its time from whoever waits for it. An event is the time it was recorded.
class SlowGpu final : public c10::impl::DeviceGuardImplInterface {
 public:
  explicit SlowGpu(SetClock& clock) : clock_(clock) {}
  void Add(absl::Duration work) { work_ += work; }

  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device device) const override { return device; }
  c10::Device getDevice() const override { return {c10::DeviceType::CUDA, 0}; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    *event = &events_.emplace_back(clock_.steady);
  }
  bool queryEvent(void*) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override { Wait(); }
  void synchronizeEvent(void*) const override { Wait(); }
  double elapsedTime(void* from, void* to, c10::DeviceIndex) const override {
    return absl::ToDoubleMilliseconds(*static_cast<absl::Duration*>(to) -
                                      *static_cast<absl::Duration*>(from));
  }

 private:
  void Wait() const { clock_.steady += std::exchange(work_, absl::ZeroDuration()); }

  SetClock& clock_;
  mutable absl::Duration work_;
  mutable std::deque<absl::Duration> events_;
};

// Without what was under way before, and until the GPU is done.
TEST(StopwatchTest, AStepOnAGpuIsTimedFromBeginToEnd) {
  SetClock clock;
  SlowGpu gpu(clock);
  auto& known = c10::impl::device_guard_impl_registry[static_cast<size_t>(c10::DeviceType::CUDA)];
  const auto* const before = known.exchange(&gpu);
  gpu.Add(absl::Seconds(100));
  const StepTime time = Stopwatch({c10::DeviceType::CUDA, 0}, clock).Time([&] {
    clock.steady += absl::Milliseconds(500);
    gpu.Add(absl::Seconds(2));
  });
  known.store(before);
  EXPECT_EQ(time.wall_seconds, 2.5);
  EXPECT_EQ(time.device_seconds, 0.5) << "between the events";
}

TEST(MeasuredTest, OrdersOfArrivalAreCountedAndTheMostFrequentIsTold) {
  TrainReport report;
  EXPECT_FALSE(MeasuredJson(report).contains("arrival_orders_seen"));
  report.arrival_orders = {{"0,1,2", 4}, {"1,0,2", 5}, {"2,1,0", 3}};
  const Json measured = MeasuredJson(report);
  EXPECT_EQ(measured["arrival_orders_seen"], 3);
  EXPECT_EQ(measured["most_frequent_arrival_order"], 5);
}

// Says the same of every class.
class Undecided final : public Model {
 public:
  explicit Undecided(int64_t classes) : classes_(classes) {}
  at::Tensor Forward(const at::Tensor& images, const ForwardPass&) const override {
    return at::zeros({images.size(0), classes_});
  }

 private:
  const int64_t classes_;
};

TEST(ResultsTest, OfMoreClassesThanAnOutcomeTakesNoneHasAnAccuracy) {
  std::string folder = testing::TempDir() + "noisefloor-results-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  TrainerRequest request;
  request.work_directory = folder;
  const ImageShape shape{1, 2, 2};
  const Augmenter augmenter(shape, {}, Layout::kNhwc);
  ThreadTeam team(1, [] {});
  for (const int64_t classes : {10000, 10001}) {
    Dataset dataset;
    dataset.classes = classes;
    dataset.test = Split{shape, std::vector<uint8_t>(4), std::vector<int64_t>(1)};
    const Evaluator evaluator({.batch_size = 1}, dataset.test, augmenter, team);
    EventsToldBy([&](Reporter& reporter) {
      Results results(request, dataset, reporter);
      EXPECT_TRUE(results.EvaluateGiven(Undecided(classes), at::kCPU, evaluator).ok());
      EXPECT_EQ(results.outcome().per_class_accuracy.size(), classes == 10000 ? 10000u : 0u);
      EXPECT_EQ(results.outcome().metrics.at("top1"), 1) << "of equal logits the first";
    });
  }
  std::filesystem::remove_all(folder);
}

// Cells are pinned to the fingerprint: other versions have another one, another program has not.
TEST(BuildTest, ItsFingerprintIsOfTheStackAndItsVersions) {
  const Build build = IdentifyBuild();
  const Json environment = ProcessEnvironment(build);
  EXPECT_EQ(build.stack, OwnStack());
  EXPECT_EQ(build.build, *Sha256File("/proc/self/exe"));
  EXPECT_EQ(build.fingerprint, Sha256Hex("{\"stack\":\"" + build.stack + "\",\"versions\":" +
                                         environment["versions"].dump() + "}"));
  for (const char* library : {"libtorch", "library", "onednn", "mkl", "openmp", "compiler"}) {
    EXPECT_NE(environment["versions"].value(library, ""), "") << library;
  }
}

// Behind the two notes that every environment has.
TEST(NotesTest, SayWhichSourcesActOnNothing) {
  const auto notes = [](const std::function<void(Specification&)>& change) {
    Specification specification;
    specification.train.shards = 2;
    change(specification);
    std::string all;
    const Json json = NotesJson(specification, /*observed=*/true);
    for (size_t i = 2; i < json.size(); ++i) all += json[i].get<std::string>() + ";";
    return all;
  };
  const auto freed = [](NoiseSource source, const std::string& hardware_class, int64_t shards) {
    return [=](Specification& s) {
      s.Source(source).state = SourceState::kFree;
      s.hardware_class = hardware_class;
      s.train.shards = shards;
    };
  };
  const std::string idle =
      "kernels and autotune have no effect on a CPU with a fixed number of threads;";
  EXPECT_EQ(notes([](Specification&) {}), "");
  for (const NoiseSource source : {NoiseSource::kKernels, NoiseSource::kAutotune}) {
    EXPECT_EQ(notes(freed(source, "", 1)), idle);
    EXPECT_EQ(notes(freed(source, "cpu-amd-avx2", 1)), idle);
    EXPECT_EQ(notes(freed(source, "nvidia-h200", 1)), "");
  }
  EXPECT_EQ(notes(freed(NoiseSource::kReduceOrder, "", 3)), "");
  EXPECT_EQ(notes(freed(NoiseSource::kReduceOrder, "nvidia-h200", 2)),
            "reduce_order is free but fewer than 3 shards add in only one way;");
  const auto two_devices = [](const std::string& hardware_class) {
    return [=](Specification& s) {
      s.train.devices = 2;
      s.hardware_class = hardware_class;
    };
  };
  EXPECT_EQ(notes(two_devices("")), "train.devices: 2 copies of the weights on one processor;");
  EXPECT_EQ(notes(two_devices("nvidia-h200-x2")), "");
}

TEST(EvaluationPlanTest, TestsHaveTheThreadsOfTheSpecificationWhateverWasDrawn) {
  Specification specification;
  specification.train.threads = 2;
  const Dataset dataset;
  const Streams streams = MakeStreams(specification);
  const SwitchPlan drawn{.threads = 5};
  const SetClock clock;
  const TrainInput input{specification, dataset, streams, drawn, {at::kCPU}, clock, {}};
  EXPECT_EQ(EvaluationOf(input).threads, 2);
  EXPECT_EQ(EvaluationOf(input).training.threads, 5) << "to which it goes back";
  specification.train.batch_size = 8;
  specification.evaluate.batch_size = 77;
  EXPECT_EQ(EvaluationOf(input).batch_size, 77);
}

void NobodyAsks() { ADD_FAILURE() << "the words were enough"; }

Failure FailureOfWhatIsThrownBy(const std::function<void()>& work,
                                const std::function<void()>& ask_gpus = NobodyAsks) {
  try {
    work();
  } catch (const std::exception& error) {
    return FailureOf(error, ask_gpus);
  }
  return {.cause = CauseClass::kNone};
}

CauseClass CauseOfWhatIsThrownBy(const std::function<void()>& work) {
  return FailureOfWhatIsThrownBy(work).cause;
}

CauseClass CauseOfWords(const std::string& words) {
  return CauseOfWhatIsThrownBy([&] { TORCH_CHECK(false, words); });
}

TEST(CauseTest, WhatLibrariesThrowHasACause) {
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { throw std::bad_alloc(); }), CauseClass::kOutOfMemory);
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "full"); }),
            CauseClass::kOutOfMemory);
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { TORCH_CHECK(false, "CUDA error: unspecified"); }),
            CauseClass::kLostDevice);
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { TORCH_CHECK_VALUE(false, "no such size"); }),
            CauseClass::kBadSpecification);
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { TORCH_CHECK(false, "of another kind"); }), CauseClass::kBug);
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { throw std::runtime_error("x"); }), CauseClass::kBug);
}

TEST(CauseTest, MemoryThatIsMissingIsToldInManyWords) {
  for (const char* words :
       {"CUDA error: out of memory\nCUDA kernel errors might be reported later",
        "CUDA driver error: out of memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "cuDNN error: CUDNN_STATUS_ALLOC_FAILED",
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4096 bytes.",
        "cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"}) {
    EXPECT_EQ(CauseOfWords(words), CauseClass::kOutOfMemory) << words;
  }
  EXPECT_EQ(CauseOfWhatIsThrownBy([] { (void)at::empty({int64_t{1} << 50}); }),
            CauseClass::kOutOfMemory)
      << "of the host";
}

TEST(CauseTest, AMistakeIsNoLostDevice) {
  for (const char* words : {"CUDA error: invalid configuration argument\nCompile with",
                            "CUDA error: device-side assert triggered"}) {
    EXPECT_EQ(CauseOfWords(words), CauseClass::kBug) << words;
  }
  EXPECT_EQ(CauseOfWords("CUDA error: an illegal memory access was encountered"),
            CauseClass::kLostDevice);
}

// cuDNN's words are the same for a GPU that is gone, for one that is full and for a mistake.
TEST(CauseTest, WhatCudnnSaysIsAskedOfTheGpu) {
  const std::string no_engine = "GET was unable to find an engine to execute this computation";
  const std::string failed = "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED";
  const auto works = [] {};
  const auto gone = [] { TORCH_CHECK(false, "CUDA error: unspecified launch failure\nmore"); };
  const auto full = [] { TORCH_CHECK(false, "CUDA error: out of memory"); };
  const auto asserted = [] { TORCH_CHECK(false, "CUDA error: device-side assert triggered"); };
  const auto told = [](const std::string& words, const std::function<void()>& gpu) {
    return FailureOfWhatIsThrownBy([&] { TORCH_CHECK(false, words, "\nmore"); }, gpu);
  };
  for (const std::string& words : {no_engine, failed, "cuDNN Frontend error: " + failed}) {
    EXPECT_EQ(told(words, gone).cause, CauseClass::kLostDevice) << words;
    EXPECT_EQ(told(words, gone).message,
              words + " (the GPU: CUDA error: unspecified launch failure)");
    EXPECT_EQ(told(words, full).cause, CauseClass::kOutOfMemory) << words;
    EXPECT_EQ(told(words, asserted).cause, CauseClass::kBug) << words;
  }
  EXPECT_EQ(told(failed, works).cause, CauseClass::kBug);
  EXPECT_EQ(told(failed, works).message, failed);
  EXPECT_EQ(told(no_engine, works).cause, CauseClass::kOutOfMemory);
  EXPECT_EQ(told(no_engine, works).message,
            no_engine + " (the GPU works: memory is taken to be what was missing)");
  // As its frontend throws it.
  const auto frontend = [] {
    throw std::runtime_error("Finalize failed cudnn_status: CUDNN_STATUS_EXECUTION_FAILED");
  };
  EXPECT_EQ(FailureOfWhatIsThrownBy(frontend, gone).cause, CauseClass::kLostDevice);
  EXPECT_EQ(FailureOfWhatIsThrownBy(frontend, works).cause, CauseClass::kBug);
}

TEST(CauseTest, AProcessWithoutGpusHasNoneThatIsGone) { EXPECT_NO_THROW(WaitForGpus()); }

TEST(TryDeviceTest, NumbersThatAreOffOrMissingOrNoneAreADifference) {
  const std::vector<double> expected = {1, -2, 0.5};
  const auto difference = [&](const std::vector<float>& computed) {
    return Difference("sum", at::tensor(computed), expected);
  };
  EXPECT_EQ(difference({1, -2, 0.50001f}), "");
  EXPECT_EQ(difference({1, -2.25f, 0.5f}), "its sum is off by 0.250000");
  EXPECT_EQ(difference({1, -2, NAN}), "its sum is off by inf");
  EXPECT_EQ(difference({1, -2}), "its sum has 2 numbers");
}

}  // namespace
}  // namespace noisefloor::trainer
