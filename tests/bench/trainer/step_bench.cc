// The trainer's steps and evaluations in a process that lives on, for train_bench.py, which goes
// round several such processes in turn. Reads "train K" (steps) or "evaluate K" (passes over the
// test set) on standard input and answers each with one line of JSON: seconds on the clock and of
// the processor. Images are drawn: no data set is needed.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/philox.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/facts/device.h"
#include "worker/trainer/torch/facts/switches.h"
#include "worker/trainer/torch/intake.h"
#include "worker/trainer/torch/model/init.h"
#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/optim/update.h"
#include "worker/trainer/torch/step/batches.h"
#include "worker/trainer/torch/step/device_images.h"
#include "worker/trainer/torch/step/evaluate.h"
#include "worker/trainer/torch/step/memory.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

constexpr int64_t kTrainingBatches = 10;
constexpr int64_t kTestExamples = 2000;
constexpr int64_t kClasses = 10;

struct Arguments {
  std::string model = "small_cnn";
  std::string images = "cifar10";
  std::string feed = "fixed";
  std::string device = "cpu";
  Specification specification = ExampleSpecification();
};

Split DrawnSplit(const ImageShape& shape, int64_t examples) {
  std::vector<uint8_t> images(static_cast<size_t>(shape.pixels() * examples));
  const PhiloxStream draws(1, static_cast<uint64_t>(examples));
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint8_t>(draws.Word(i));
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < examples; ++i) labels.push_back(i % kClasses);
  return {shape, std::move(images), std::move(labels)};
}

Dataset DrawnDataset(const Arguments& arguments) {
  Dataset dataset{.classes = kClasses, .shape = {3, 32, 32}};
  if (arguments.images == "fashion-mnist") dataset.shape = {1, 28, 28};
  dataset.train =
      DrawnSplit(dataset.shape, kTrainingBatches * arguments.specification.train.batch_size);
  dataset.test = DrawnSplit(dataset.shape, kTestExamples);
  return dataset;
}

// The loop of train.cc without its records and ends.
class Bench {
 public:
  explicit Bench(const Arguments& arguments)
      : spec_(arguments.specification),
        fixed_(arguments.feed == "fixed"),
        device_(OpenDevices(arguments.device == "cuda").value().front()),
        kernels_(OpenGpuKernels(std::vector<at::Device>{device_}).value()),
        dataset_(DrawnDataset(arguments)),
        streams_(MakeStreams(spec_)),
        switches_(PlanSwitches(spec_, spec_.train.threads)),
        shape_{dataset_.shape.channels, dataset_.shape.height, dataset_.shape.width, kClasses},
        model_(MakeModel(spec_.model, shape_, device_)),
        batches_(*TrainingBatches::Make(spec_, dataset_, streams_,
                                        {{device_, kernels_.front().launcher.get()}})),
        update_(spec_.train, model_->ParameterTensors(), {}),
        augmenter_(dataset_.shape, spec_.augment, LayoutOf(spec_.model)) {
    NF_CHECK(CheckReadings(SetSwitches(switches_)).ok());
    model_->ToType(WeightTypeOf(spec_.train.precision));
    InitWeights(*model_, spec_.model.init, streams_.init, nullptr);
    shards_ = std::make_unique<GradientShards>(
        ShardOptions{.threads = spec_.train.threads,
                     .layers = LayerTypeOf(spec_.train.precision),
                     .launchers = LaunchersOf(kernels_)},
        Replicas(spec_.model, shape_, *model_, spec_.train.shards, {device_}));
    batch_ = *batches_.Next();
    loaded_ = batches_.Load(batch_, 0, spec_.train.batch_size);
  }

  void Train(int64_t steps) {
    for (int64_t i = 0; i < steps; ++i, ++step_) {
      if (!fixed_) batch_ = *batches_.Next();
      const auto load = [&](int64_t first, int64_t count, size_t) {
        if (!fixed_) return batches_.Load(batch_, first, count);
        return Examples{loaded_.images.narrow(0, first, count),
                        loaded_.labels.narrow(0, first, count)};
      };
      update_.Step(shards_->Compute(spec_.train.batch_size, step_, load, update_.loss_scale()),
                   1e-4);
      shards_->UpdateRunningStatistics();
    }
  }

  void Evaluate(int64_t passes) {
    const Evaluator evaluator({.batch_size = spec_.evaluate.batch_size,
                               .threads = spec_.train.threads,
                               .training = switches_},
                              dataset_.test, augmenter_, shards_->team());
    for (int64_t i = 0; i < passes; ++i) {
      NF_CHECK(evaluator.Predict(*model_, kClasses, device_).ok());
    }
  }

  // Until the device has done what it was told.
  void Wait() const {
    if (!device_.is_cuda()) return;
    const c10::impl::VirtualGuardImpl gpu(device_.type());
    gpu.synchronizeStream(gpu.getStream(device_));
  }

 private:
  const Specification spec_;
  const bool fixed_;         // One batch, loaded once.
  const at::Device device_;  // First of what asks LibTorch: CUDA has to be opened before.
  const std::vector<GpuKernels> kernels_;
  const Dataset dataset_;
  const Streams streams_;
  const SwitchPlan switches_;
  const ModelShape shape_;
  const std::unique_ptr<Model> model_;
  TrainingBatches batches_;
  Update update_;
  const Augmenter augmenter_;
  std::unique_ptr<GradientShards> shards_;
  Batch batch_;
  Examples loaded_;
  int64_t step_ = 0;
};

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Serve(Bench& bench) {
  std::string what;
  for (int64_t count = 0; std::cin >> what >> count;) {
    const double before = ProcessorSeconds();
    const auto start = std::chrono::steady_clock::now();
    what == "train" ? bench.Train(count) : bench.Evaluate(count);
    bench.Wait();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    std::printf("{\"wall\":%.6f,\"cpu\":%.6f}\n", wall.count(), ProcessorSeconds() - before);
    std::fflush(stdout);
  }
}

int Main(int argc, char** argv) {
  Arguments arguments;
  Specification& spec = arguments.specification;
  CLI::App app("Steps of the trainer, timed; see tests/bench/trainer/README.md");
  app.add_option("--model", arguments.model)
      ->check(CLI::IsMember({"small_cnn", "small_cnn_bn", "medium_cnn", "mlp", "resnet18", "vit"}));
  app.add_option("--images", arguments.images)->check(CLI::IsMember({"cifar10", "fashion-mnist"}));
  app.add_option("--feed", arguments.feed)->check(CLI::IsMember({"fixed", "augment"}));
  app.add_option("--device", arguments.device)->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--class", spec.hardware_class);
  app.add_option("--precision", spec.train.precision)
      ->check(CLI::IsMember({"fp32", "bf16", "fp16", "fp64"}));
  app.add_option("--batch", spec.train.batch_size)->check(CLI::PositiveNumber);
  app.add_option("--evaluate-batch", spec.evaluate.batch_size)->check(CLI::PositiveNumber);
  app.add_option("--threads", spec.train.threads)->check(CLI::PositiveNumber);
  app.add_option("--shards", spec.train.shards)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status as_class = BecomeClass(spec, argv);
  if (!as_class.ok() || spec.train.batch_size % spec.train.shards != 0) {
    std::fprintf(stderr, "%s\n",
                 as_class.ok() ? "--batch is no multiple of --shards" : Message(as_class).c_str());
    return 2;
  }
  spec.model.name = arguments.model == "small_cnn_bn" ? "small_cnn" : arguments.model;
  spec.model.batch_norm = arguments.model != "small_cnn";
  spec.train.optimizer.momentum = 0.9;
  if (arguments.feed == "augment") {
    spec.augment = {.crop_padding = 4, .flip = true, .standardise = true};
  }
  UseKeptMemory();
  Bench bench(arguments);
  Serve(bench);
  return 0;
}

}  // namespace
}  // namespace noisefloor::trainer

int main(int argc, char** argv) { return noisefloor::trainer::Main(argc, argv); }
