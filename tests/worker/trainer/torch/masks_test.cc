// Dropout masks that our kernel makes, against the host's.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/worker/trainer/cuda/rehearsal.h"
#include "tests/worker/trainer/torch/failing_launcher.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/cuda/counted_launcher.h"
#include "worker/trainer/torch/model/layers.h"
#include "worker/trainer/torch/step/shards.h"
#include "worker/trainer/torch/step/train_report.h"

namespace noisefloor::trainer {
namespace {

using cuda::rehearsal::RehearsalLauncher;

// In floats, doubles and low precision, of rows and of pixels, of a shard that is not the first.
TEST(MasksTest, OfALayerHaveTheBitsOfTheHost) {
  const Dropout dropout{"dropout1", 0.3};
  const at::Tensor rows = at::arange(1, 91).view({9, 10});
  const at::Tensor pixels =
      at::arange(1, 301).view({4, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  RehearsalLauncher launcher(1);
  uint64_t launches = 0;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    for (const at::Tensor& values : {rows.to(type), pixels.to(type)}) {
      ForwardPass pass{.training = true, .step = 2, .first_example = 5, .dropout = DropoutDraws(9)};
      const at::Tensor host = dropout(values, pass);
      pass.launcher = &launcher;
      const at::Tensor device = dropout(values, pass);
      EXPECT_EQ(launcher.launches(), ++launches);
      EXPECT_TRUE(at::equal(host, device)) << type;
      EXPECT_EQ(host.strides(), device.strides()) << type;
    }
  }
}

// Two shards on each of two devices, and each device's launcher for its own.
TEST(MasksTest, OfShardsOnTwoDevicesGiveTheGradientsOfTheHosts) {
  constexpr ModelShape kShape{1, 28, 28, 10};
  const ModelSettings settings{.name = "mlp", .dropout = 0.5, .hidden = 32};
  const at::Tensor images = FormulaImages(8, 1, 28);
  const at::Tensor labels = FormulaLabels(8);
  const auto compute = [&](std::vector<cuda::KernelLauncher*> launchers) {
    const auto model = MakeModel(settings, kShape, at::kCPU);
    SetByFormula(*model);
    GradientShards shards({.dropout = DropoutDraws(5), .launchers = std::move(launchers)},
                          Replicas(settings, kShape, *model, 4, {at::kCPU, at::kCPU}));
    std::vector<at::Tensor> gradients;
    for (const at::Tensor& gradient : shards.Compute(8, 3, [&](int64_t first, int64_t n, size_t) {
           return Examples{images.narrow(0, first, n), labels.narrow(0, first, n)};
         })) {
      gradients.push_back(gradient.clone());
    }
    return gradients;
  };
  RehearsalLauncher first(1), second(2);

  const std::vector<at::Tensor> host = compute({});
  const std::vector<at::Tensor> device = compute({&first, &second});

  EXPECT_EQ(first.launches(), 4u);  // Two layers a shard.
  EXPECT_EQ(second.launches(), 4u);
  for (size_t i = 0; i < host.size(); ++i) EXPECT_TRUE(at::equal(device[i], host[i])) << i;
}

TEST(MasksTest, ALaunchThatFailsIsALostDevice) {
  FailingLauncher launcher;
  const Dropout dropout{"dropout1", 0.5};
  try {
    dropout(at::ones({4, 4}), {.training = true, .launcher = &launcher});
    FAIL() << "expected an exception";
  } catch (const c10::Error& error) {
    EXPECT_STREQ(error.what_without_backtrace(), "CUDA error: cuLaunchKernel: gone");
  }
}

// Each kernel by its name, those that failed left out.
TEST(MasksTest, WhatWasLaunchedIsTold) {
  cuda::CountedLauncher works(std::make_unique<RehearsalLauncher>(1));
  cuda::CountedLauncher fails(std::make_unique<FailingLauncher>());
  const Dropout dropout{"dropout1", 0.5};
  EXPECT_TRUE(works.launches().empty());
  for (int i = 0; i < 3; ++i) {
    dropout(at::ones({4, 4}), {.training = true, .launcher = &works});
    EXPECT_THROW(dropout(at::ones({4, 4}), {.training = true, .launcher = &fails}), c10::Error);
  }
  const std::map<std::string, uint64_t> launches = {{"DropoutMask", 3}};
  EXPECT_EQ(works.launches(), launches);
  EXPECT_TRUE(fails.launches().empty());
  EXPECT_EQ(MeasuredJson({.own_kernels = launches})["own_kernels"], Json(launches));
  EXPECT_FALSE(MeasuredJson({}).contains("own_kernels"));
}

}  // namespace
}  // namespace noisefloor::trainer
