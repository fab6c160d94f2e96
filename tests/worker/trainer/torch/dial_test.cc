// The source `dial` on gradients as a network has them, on the host and by our kernel in a
// rehearsal.
#include "worker/trainer/torch/optim/dial.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/philox.h"
#include "tests/worker/trainer/cuda/rehearsal.h"
#include "worker/trainer/torch/model/host_tensors.h"

namespace noisefloor::trainer {
namespace {

constexpr int64_t kStep = 7;

Specification DialedBy(double size, const std::string& parameters = "") {
  Specification specification;
  specification.Source(NoiseSource::kDial) = {SourceState::kFree, {0, 3}, 1234};
  specification.sources.dial_size = size;
  specification.sources.dial_parameters = parameters;
  return specification;
}

const DialDraws kDraws(1234);

std::unique_ptr<Model> SmallCnn() {
  return MakeModel({.name = "small_cnn", .batch_norm = false}, {3, 32, 32, 10}, at::kCPU);
}

// One for each parameter, in its layout; numbers between -1 and 1.
std::vector<at::Tensor> GradientsOf(const Model& model) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : model.parameters()) {
    at::Tensor gradient = at::empty_like(parameter.value.detach());
    std::vector<float> values(static_cast<size_t>(gradient.numel()));
    InitDraws(5).FillUniform(parameter.name, 1.0f, values);
    gradient.copy_(at::from_blob(values.data(), gradient.sizes(), at::kFloat));
    gradients.push_back(std::move(gradient));
  }
  return gradients;
}

// Elements that differ, by parameter.
std::vector<std::string> Changed(const Model& model, const std::vector<at::Tensor>& gradients) {
  const std::vector<at::Tensor> before = GradientsOf(model);
  std::vector<std::string> names;
  for (size_t i = 0; i < before.size(); ++i) {
    if (!at::equal(before[i], gradients[i])) names.push_back(model.parameters()[i].name);
  }
  return names;
}

std::vector<at::Tensor> Dialed(const Specification& specification, const Model& model,
                               cuda::KernelLauncher* launcher = nullptr) {
  std::vector<at::Tensor> gradients = GradientsOf(model);
  const auto dial = Dial::Make(specification, kDraws, model, launcher);
  EXPECT_TRUE(dial.ok()) << dial.status();
  dial->Apply(kStep, gradients);
  return gradients;
}

TEST(DialTest, ElementsAreCountedInLogicalOrderWhateverTheLayout) {
  const auto model = SmallCnn();
  ASSERT_FALSE(model->parameters()[0].value.is_contiguous()) << "a convolution's is channels_last";
  const std::vector<at::Tensor> before = GradientsOf(*model);

  const std::vector<at::Tensor> after = Dialed(DialedBy(0.01), *model);

  for (size_t i = 0; i < before.size(); ++i) {
    std::vector<float> values = HostValues(before[i]);
    kDraws.Apply(kStep, model->parameters()[i].name, 0, 0.01f, std::span(values));
    EXPECT_EQ(HostValues(after[i]), values) << model->parameters()[i].name;
    EXPECT_EQ(after[i].strides(), before[i].strides());
  }
}

TEST(DialTest, OurKernelHasTheBitsOfTheHost) {
  const auto model = SmallCnn();
  cuda::rehearsal::RehearsalLauncher launcher(1);
  const std::vector<at::Tensor> host = Dialed(DialedBy(1e-3), *model);
  const std::vector<at::Tensor> device = Dialed(DialedBy(1e-3), *model, &launcher);
  EXPECT_EQ(launcher.launches(), host.size());
  for (size_t i = 0; i < host.size(); ++i) {
    EXPECT_TRUE(at::equal(host[i].view(at::kInt), device[i].view(at::kInt))) << i;
  }
}

TEST(DialTest, ThreadsChangeNothing) {
  const auto model = MakeModel({.name = "mlp", .hidden = 64}, {3, 32, 32, 10}, at::kCPU);
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const std::vector<at::Tensor> one = Dialed(DialedBy(0.3), *model);
  at::set_num_threads(3);
  const std::vector<at::Tensor> three = Dialed(DialedBy(0.3), *model);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], three[i])) << i;
}

// In a time that does not rise with every star.
TEST(DialTest, ManyStarsAreNoHang) {
  const auto model = SmallCnn();
  const std::string stars(2000, '*');
  EXPECT_TRUE(
      Dial::Make(DialedBy(0.5, stars + "conv1" + stars + "weight" + stars), kDraws, *model, nullptr)
          .ok());
  EXPECT_FALSE(Dial::Make(DialedBy(0.5, stars + "*c*o*n*v*1*x"), kDraws, *model, nullptr).ok());
}

TEST(DialTest, WhatIsNotLearnedHasNothingToDial) {
  const auto model = MakeModel({.name = "resnet9_whitened", .width = 8}, {3, 32, 32, 10}, at::kCPU);
  EXPECT_TRUE(Dial::Make(DialedBy(0.5, "stem.bias"), kDraws, *model, nullptr).ok());
  EXPECT_EQ(Dial::Make(DialedBy(0.5, "stem.weight"), kDraws, *model, nullptr).status().message(),
            "sources.dial.parameters: the model learns no parameter 'stem.weight'; its first is "
            "'stem.bias'");
}

TEST(DialTest, DoublesAreDialedAsDoubles) {
  const auto model = SmallCnn();
  model->ToType(at::kDouble);
  std::vector<double> values = {1.0, -0.5, 0.25};
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : model->parameters()) {
    gradients.push_back(at::ones_like(parameter.value.detach()));
  }
  const std::string& name = model->parameters().back().name;
  const auto dial = Dial::Make(DialedBy(1e-12, name), kDraws, *model, nullptr);
  ASSERT_TRUE(dial.ok());
  at::Tensor last = gradients.back().flatten();
  ASSERT_EQ(last.numel(), 10);
  for (size_t i = 0; i < values.size(); ++i) last[static_cast<int64_t>(i)].fill_(values[i]);

  dial->Apply(kStep, gradients);

  kDraws.Apply(kStep, name, 0, 1e-12, std::span(values));
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(last[static_cast<int64_t>(i)].item<double>(), values[i]) << i;
  }
  EXPECT_NE(values[0], 1.0);
}

TEST(DialTest, PatternsChooseTheParameters) {
  using Names = std::vector<std::string>;
  const auto model = SmallCnn();
  Names all;
  int64_t elements = 0;
  for (const NamedTensor& parameter : model->parameters()) {
    all.push_back(parameter.name);
    elements += parameter.value.numel();
  }
  const auto changed = [&](const std::string& patterns) {
    return Changed(*model, Dialed(DialedBy(0.1, patterns), *model));
  };
  EXPECT_EQ(changed(""), all);
  EXPECT_EQ(changed("*"), all);
  EXPECT_EQ(changed("conv1.weight"), Names{"conv1.weight"});
  EXPECT_EQ(changed("conv2.bias,conv1.*"), (Names{"conv1.weight", "conv1.bias", "conv2.bias"}));
  EXPECT_EQ(changed("c*1*w*t"), Names{"conv1.weight"});
  EXPECT_EQ(changed("**3.bias*"), Names{"conv3.bias"});
  EXPECT_EQ(Dial::Make(DialedBy(0.1), kDraws, *model, nullptr)->elements(), elements);
  EXPECT_EQ(Dial::Make(DialedBy(0.1, "conv1.bias"), kDraws, *model, nullptr)->elements(), 16);
}

TEST(DialTest, WhatNoParameterHasIsRefusedByName) {
  const auto model = SmallCnn();
  for (const char* pattern : {"conv9.*", "conv1", "onv1.weight", "conv1.weight*x", ""}) {
    const auto dial =
        Dial::Make(DialedBy(0.1, std::string("conv1.*,") + pattern), kDraws, *model, nullptr);
    EXPECT_EQ(Message(dial.status()), "sources.dial.parameters: the model learns no parameter '" +
                                          std::string(pattern) + "'; its first is 'conv1.weight'");
  }
}

TEST(DialTest, OffChangesNothing) {
  const auto model = SmallCnn();
  Specification specification = DialedBy(0.1, "nonsense");
  specification.Source(NoiseSource::kDial).state = SourceState::kOff;
  EXPECT_EQ(Changed(*model, Dialed(specification, *model)), std::vector<std::string>());
  EXPECT_EQ(Dial::Make(specification, kDraws, *model, nullptr)->elements(), 0);
}

}  // namespace
}  // namespace noisefloor::trainer
