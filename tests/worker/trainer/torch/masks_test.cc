// Dropout masks that our kernel makes, against the host's.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/philox.h"
#include "tests/worker/trainer/cuda/rehearsal.h"
#include "tests/worker/trainer/torch/failing_launcher.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/cuda/counted_launcher.h"
#include "worker/trainer/cuda/kernels/arguments.h"
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

// Stream and elements of each mask, in the order in which they are made; nothing is dropped.
using Masks = std::vector<std::pair<uint64_t, uint64_t>>;

class NotingLauncher final : public cuda::KernelLauncher {
 public:
  absl::Status Launch(const cuda::KernelLaunch& launch) override {
    cuda::DropoutArguments a;
    std::memcpy(&a, launch.arguments.data(), sizeof a);
    masks_.emplace_back(a.stream, a.count);
    std::fill_n(a.mask, a.count, 1.0f);
    return absl::OkStatus();
  }
  const Masks& masks() const { return masks_; }

 private:
  Masks masks_;
};

// Of two images of 32 x 32 in colour.
Masks MasksOf(const std::string& name) {
  const at::NoGradGuard no_grad;
  const auto model =
      MakeModel({.name = name, .dropout = 0.5, .hidden = 16}, {3, 32, 32, 10}, at::kCPU);
  NotingLauncher launcher;
  model->Forward(FormulaImages(2, 3, 32), {.training = true, .launcher = &launcher});
  return launcher.masks();
}

// As the papers have it: behind hidden layers; before the last layer; in vit behind what is given
// to the blocks, and behind each block's attention and hidden layer.
TEST(MasksTest, NetworksDropWhatTheirPapersSay) {
  const auto mask = [](const std::string& layer, uint64_t elements) {
    return std::pair(StreamOf(layer), 2 * elements);
  };
  constexpr uint64_t kTokens = uint64_t{64} * 192;
  Masks vit = {mask("dropout", kTokens)};
  for (int block = 1; block <= 6; ++block) {
    const std::string name = "block" + std::to_string(block);
    vit.push_back(mask(name + ".dropout1", kTokens));
    vit.push_back(mask(name + ".dropout2", kTokens));
  }
  EXPECT_EQ(MasksOf("vit"), vit);
  EXPECT_EQ(MasksOf("mlp"), (Masks{mask("dropout1", 16), mask("dropout2", 16)}));
  EXPECT_EQ(MasksOf("medium_cnn"),
            (Masks{mask("dropout1", 64 * 32 * 32), mask("dropout2", 128 * 16 * 16),
                   mask("dropout3", 256 * 8 * 8), mask("dropout4", 256 * 4 * 4)}));
  EXPECT_EQ(MasksOf("vgg16"), (Masks{mask("dropout1", 4096), mask("dropout2", 4096)}));
  EXPECT_EQ(MasksOf("mobilenet"), (Masks{mask("dropout", 1024)}));
  EXPECT_EQ(MasksOf("efficientnet_b0"), (Masks{mask("dropout", 1280)}));
  EXPECT_EQ(MasksOf("resnet20"), Masks{});
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
