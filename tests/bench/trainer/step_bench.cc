// Times optimiser steps of the trainer on random images: what train_bench.py times in Python.
// step_bench MODEL BATCH STEPS THREADS SHARDS CHANNELS SIDE: one JSON line.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "worker/trainer/torch/memory.h"
#include "worker/trainer/torch/model.h"
#include "worker/trainer/torch/optimizer.h"
#include "worker/trainer/torch/shards.h"

namespace noisefloor::trainer {
namespace {

struct Arguments {
  ModelSettings model;
  int64_t batch_size = 128;
  int64_t steps = 50;
  int64_t threads = 1;
  int64_t shards = 1;
  ModelShape shape{.channels = 3, .height = 32, .width = 32, .classes = 10};
};

// Small weights of a fixed formula: timing does not ask for more.
void SetWeights(Model& model) {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : model.parameters()) {
    const int64_t n = parameter.value.numel();
    const at::Tensor values = at::arange(n, at::kFloat).sin().mul_(0.05);
    at::Tensor value = parameter.value;
    value.copy_(values.view(parameter.value.sizes()));
  }
  for (const NamedTensor& buffer : model.buffers()) {
    at::Tensor value = buffer.value;
    value.fill_(1.0);
  }
}

double SecondsOf(const Arguments& arguments) {
  const auto& shape = arguments.shape;
  const auto model = MakeModel(arguments.model, shape, at::kCPU);
  SetWeights(*model);
  std::vector<std::unique_ptr<Model>> replicas;
  for (int64_t rank = 0; rank < arguments.shards; ++rank) {
    replicas.push_back(MakeModel(arguments.model, shape, at::kCPU, model.get()));
  }
  GradientShards shards({.shards = arguments.shards, .threads = arguments.threads},
                        std::move(replicas));
  Optimizer optimizer({.momentum = 0.9}, model->ParameterTensors());
  const int64_t pixels = shape.channels * shape.height * shape.width;
  const at::Tensor images =
      at::arange(arguments.batch_size * pixels, at::kFloat)
          .sin()
          .view({arguments.batch_size, shape.height, shape.width, shape.channels})
          .permute({0, 3, 1, 2});
  const at::Tensor labels = at::arange(arguments.batch_size, at::kLong).remainder(10);
  const auto load = [&](int64_t first, int64_t count) {
    return Examples{images.narrow(0, first, count), labels.narrow(0, first, count)};
  };
  const auto step = [&](int64_t number) {
    optimizer.Step(shards.Compute(arguments.batch_size, number, load), 1e-4);
    shards.UpdateRunningStatistics();
  };
  for (int64_t i = 0; i < 5; ++i) step(i);
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < arguments.steps; ++i) step(i);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace
}  // namespace noisefloor::trainer

int main(int argc, char** argv) {
  using namespace noisefloor::trainer;
  if (argc != 8) {
    std::fprintf(stderr, "step_bench MODEL BATCH STEPS THREADS SHARDS CHANNELS SIDE\n");
    return 2;
  }
  const std::string name = argv[1];
  Arguments arguments;
  arguments.model.name = name == "small_cnn_bn" ? "small_cnn" : name;
  arguments.model.batch_norm = name != "small_cnn";
  arguments.batch_size = std::atol(argv[2]);
  arguments.steps = std::atol(argv[3]);
  arguments.threads = std::atol(argv[4]);
  arguments.shards = std::atol(argv[5]);
  arguments.shape.channels = std::atol(argv[6]);
  arguments.shape.height = arguments.shape.width = std::atol(argv[7]);
  UseKeptMemory();
  at::set_num_threads(static_cast<int>(arguments.threads));
  const double seconds = SecondsOf(arguments);
  const double images = static_cast<double>(arguments.steps * arguments.batch_size);
  std::printf("{\"model\":\"%s\",\"images_per_second\":%.1f,\"step_ms\":%.3f}\n", name.c_str(),
              images / seconds, 1e3 * seconds / static_cast<double>(arguments.steps));
  return 0;
}
