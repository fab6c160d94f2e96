// Gradients of biases as noisy sums, rehearsed on the host: what is equal to the stock kernels',
// and what depends on the order of threads.
#include "worker/trainer/torch/model/noisy_bias.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/worker/trainer/cuda/rehearsal.h"
#include "tests/worker/trainer/torch/failing_launcher.h"
#include "tests/worker/trainer/torch/formula.h"
#include "worker/trainer/noise/streams.h"
#include "worker/trainer/torch/model/layers.h"
#include "worker/trainer/torch/model/precision.h"
#include "worker/trainer/torch/step/shards.h"

namespace noisefloor::trainer {
namespace {

using cuda::rehearsal::RehearsalLauncher;
using testing::HasSubstr;

at::Tensor NumbersOf(const std::string& name, at::IntArrayRef shape) {
  const int64_t count = c10::multiply_integers(shape);
  return at::tensor(FormulaNumbers(name, count)).to(at::kFloat).view(shape);
}

at::Tensor Learned(const std::string& name, at::IntArrayRef shape) {
  return NumbersOf(name, shape).requires_grad_(true);
}

// Of one pass: what came out, and the gradients of a sum that weighs all of it.
struct Passed {
  at::Tensor out, of_input, of_weight, of_bias;
  double bias_terms = 0;     // How many a bias' gradient sums.
  at::Tensor bias_absolute;  // {c} of their absolute values.
};

struct OneLayer {
  std::string name;
  at::Tensor input, weight, bias;
  int64_t channels = 1;  // The dimension that the bias is added to.
  std::function<at::Tensor(const at::Tensor&, const ForwardPass&)> run;
};

Passed PassThrough(const OneLayer& layer, const ForwardPass& pass) {
  const at::Tensor input = layer.input.detach().requires_grad_(true);
  const at::Tensor out = layer.run(input, pass);
  const at::Tensor of_out = NumbersOf("of_out", out.sizes());
  out.backward(of_out);
  const auto take = [](const at::Tensor& of) {
    return of.defined() ? std::exchange(of.mutable_grad(), at::Tensor()) : at::Tensor();
  };
  Passed passed{.out = out.detach(),
                .of_input = take(input),
                .of_weight = take(layer.weight),
                .of_bias = take(layer.bias)};
  const at::Tensor rows =
      of_out.movedim(layer.channels, -1).reshape({-1, out.size(layer.channels)});
  passed.bias_terms = static_cast<double>(rows.size(0));
  passed.bias_absolute = rows.to(at::kDouble).abs().sum(0);
  return passed;
}

std::vector<OneLayer> Layers() {
  const at::Tensor images = NumbersOf("images", {3, 4, 6, 5});
  const at::Tensor last = images.contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor tokens = NumbersOf("tokens", {3, 7, 4});
  const Conv conv{.weight = Learned("conv", {6, 4, 3, 3}), .bias = Learned("conv.b", {6})};
  const Conv grouped{.weight = Learned("grouped", {4, 1, 3, 3}),
                     .bias = Learned("grouped.b", {4}),
                     .stride = 2,
                     .groups = 4};
  const Conv fixed{
      .weight = Learned("fixed", {6, 4, 3, 3}), .bias = Learned("fixed.b", {6}), .learned = false};
  const Dense dense{Learned("dense", {5, 4}), Learned("dense.b", {5})};
  const LayerNorm layer_norm{Learned("ln", {4}), Learned("ln.b", {4})};
  const auto norm = [](const at::Tensor& weight) {
    return BatchNorm{weight,      Learned("bn.b", {4}), at::zeros(4),
                     at::ones(4), at::zeros({4}),       at::zeros({4})};
  };
  const BatchNorm scaled = norm(Learned("bn", {4})), plain = norm({});
  std::vector<OneLayer> layers = {
      {"conv", images, conv.weight, conv.bias, 1, conv},
      {"conv of channels_last", last, conv.weight, conv.bias, 1, conv},
      {"grouped conv", last, grouped.weight, grouped.bias, 1, grouped},
      {"conv that is not learned", images, fixed.weight, fixed.bias, 1, fixed},
      {"dense of rows", NumbersOf("rows", {9, 4}), dense.weight, dense.bias, 1, dense},
      {"dense of tokens", tokens, dense.weight, dense.bias, 2, dense},
      {"layer norm", tokens, layer_norm.weight, layer_norm.bias, 2, layer_norm},
      {"batch norm", last, scaled.weight, scaled.bias, 1, scaled},
      {"batch norm without scale", images, plain.weight, plain.bias, 1, plain},
  };
  return layers;
}

// Values and all other gradients have the stock kernels' bits; the bias' gradient is the sum.
TEST(NoisyBiasTest, OfEachLayerChangesTheOrderOfOneSum) {
  for (const OneLayer& layer : Layers()) {
    SCOPED_TRACE(layer.name);
    RehearsalLauncher launcher(1);
    const Passed stock = PassThrough(layer, {.training = true, .launcher = &launcher});
    EXPECT_EQ(launcher.launches(), 0u);
    const Passed noisy =
        PassThrough(layer, {.training = true, .launcher = &launcher, .noisy_sums = true});
    EXPECT_EQ(launcher.launches(), 1u);

    EXPECT_TRUE(at::equal(noisy.out, stock.out));
    EXPECT_EQ(noisy.out.strides(), stock.out.strides());
    EXPECT_TRUE(at::equal(noisy.of_input, stock.of_input));
    EXPECT_EQ(noisy.of_weight.defined(), stock.of_weight.defined());
    if (stock.of_weight.defined()) {
      EXPECT_TRUE(at::equal(noisy.of_weight, stock.of_weight));
    }
    // Higham, Accuracy and Stability of Numerical Algorithms (2002), 4.2: any order is this near.
    const at::Tensor bound = stock.bias_absolute * (2 * stock.bias_terms * 0x1p-24);
    EXPECT_EQ(noisy.of_bias.sizes(), stock.of_bias.sizes());
    const at::Tensor apart = (noisy.of_bias - stock.of_bias).abs().to(at::kDouble);
    EXPECT_TRUE((apart <= bound).all().item<bool>()) << apart << bound;
    EXPECT_GT(stock.of_bias.abs().max().item<double>(), 0.01);  // Zeros would be equal, too.
  }
}

TEST(NoisyBiasTest, OfLowPrecisionHasTheTypeOfTheBias) {
  const Dense dense{Learned("dense", {5, 4}), Learned("dense.b", {5})};
  const at::Tensor rows = NumbersOf("rows", {67, 4});
  RehearsalLauncher launcher(1);
  const auto gradient = [&](bool noisy) {
    const LowPrecision scope(at::kCPU, at::kBFloat16);
    const at::Tensor out =
        dense(rows, {.training = true, .launcher = &launcher, .noisy_sums = noisy});
    EXPECT_EQ(out.scalar_type(), at::kBFloat16);
    out.backward(at::full_like(out, 1.0078125));
    return std::exchange(dense.bias.mutable_grad(), at::Tensor());
  };
  const at::Tensor stock = gradient(false), noisy = gradient(true);
  EXPECT_EQ(noisy.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(noisy, stock)) << noisy;
  // Rounded as autocast's is: 67 x 1.0078125 is no bfloat16.
  EXPECT_TRUE(at::equal(noisy, noisy.to(at::kBFloat16).to(at::kFloat))) << noisy;
  EXPECT_EQ(launcher.launches(), 1u);
}

TEST(NoisyBiasTest, ALaunchThatFailsIsALostDevice) {
  FailingLauncher launcher;
  const Dense dense{Learned("dense", {5, 4}), Learned("dense.b", {5})};
  const at::Tensor out = dense(NumbersOf("rows", {9, 4}),
                               {.training = true, .launcher = &launcher, .noisy_sums = true});
  try {
    out.sum().backward();
    FAIL() << "expected an exception";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("CUDA error: cuLaunchKernel: gone"));
  }
}

Specification Noisy(const std::string& model) {
  Specification specification;
  specification.model.name = model;
  specification.model.hidden = 16;
  specification.sources.kernels_kind = "noisy";
  specification.Source(NoiseSource::kKernels).state = SourceState::kFree;
  return specification;
}

struct Placed {
  int64_t side = 32;  // Of so many images,
  int64_t examples = 3;
  int64_t shards = 1;  // in so many shards,
  size_t devices = 1;  // on so many devices.
};

struct Named {
  std::vector<std::string> names;
  std::vector<at::Tensor> gradients;
};

// Of a batch, in an order of `seed`; `launches` are those of the pass.
Named NamedGradientsOf(const Specification& specification, uint64_t seed, const Placed& placed,
                       uint64_t* launches = nullptr) {
  const ModelShape shape{3, placed.side, placed.side, 10};
  const auto model = MakeModel(specification.model, shape, at::kCPU);
  SetByFormula(*model);
  std::vector<std::unique_ptr<RehearsalLauncher>> launchers;
  std::vector<cuda::KernelLauncher*> borrowed;
  for (size_t device = 0; device < placed.devices; ++device) {
    borrowed.push_back(
        launchers.emplace_back(std::make_unique<RehearsalLauncher>(seed + device)).get());
  }
  GradientShards shards(ShardOptionsOf(specification, MakeStreams(specification), 1, borrowed),
                        Replicas(specification.model, shape, *model, placed.shards,
                                 std::vector<at::Device>(placed.devices, at::kCPU)));
  const at::Tensor images = FormulaImages(placed.examples, 3, placed.side);
  const at::Tensor labels = FormulaLabels(placed.examples);
  Named named;
  for (const at::Tensor& gradient :
       shards.Compute(placed.examples, 0, [&](int64_t first, int64_t n, size_t) {
         return Examples{images.narrow(0, first, n), labels.narrow(0, first, n)};
       })) {
    named.gradients.push_back(gradient.clone());
  }
  for (const NamedTensor& parameter : model->parameters()) named.names.push_back(parameter.name);
  if (launches == nullptr) return named;
  *launches = 0;
  for (const auto& launcher : launchers) {
    EXPECT_GT(launcher->launches(), 0u);
    *launches += launcher->launches();
  }
  return named;
}

// Of whole networks in two orders of threads: biases alone move, and some do.
TEST(NoisyBiasTest, MovesBiasesOfEachKindOfNetworkAndNothingElse) {
  const std::vector<std::pair<std::string, Placed>> cases = {
      {"small_cnn", {.side = 8}},
      {"lenet", {}},
      {"vit", {}},
      {"resnet20", {.side = 8, .examples = 2}},
      {"mlp", {.side = 8, .examples = 16, .shards = 4, .devices = 2}},
  };
  for (const auto& [model, placed] : cases) {
    SCOPED_TRACE(model);
    const Specification specification = Noisy(model);
    const auto shards = static_cast<uint64_t>(placed.shards);
    uint64_t launches = 0;
    const Named one = NamedGradientsOf(specification, 1, placed, &launches);
    const Named other = NamedGradientsOf(specification, 7, placed);
    uint64_t biases = 0, moved = 0;
    for (size_t i = 0; i < one.names.size(); ++i) {
      const bool equal = at::equal(one.gradients[i], other.gradients[i]);
      if (!one.names[i].ends_with(".bias")) {
        EXPECT_TRUE(equal) << one.names[i];
        continue;
      }
      ++biases;
      if (!equal) ++moved;
      EXPECT_TRUE(at::allclose(one.gradients[i], other.gradients[i], 1e-4, 1e-6)) << one.names[i];
    }
    EXPECT_EQ(launches, biases * shards);
    EXPECT_GT(moved, 0u);
  }
}

// Fixed kernels, stock ones and a device without a launcher are the stock engine's.
TEST(NoisyBiasTest, IsOnlyWhereFreeKernelsAreAskedToBeNoisy) {
  Specification specification = Noisy("mlp");
  const Streams streams = MakeStreams(specification);
  RehearsalLauncher launcher(1);
  EXPECT_TRUE(ShardOptionsOf(specification, streams, 1, {&launcher}).noisy_sums);
  EXPECT_FALSE(ShardOptionsOf(specification, streams, 1, {&launcher, nullptr}).noisy_sums);
  EXPECT_FALSE(ShardOptionsOf(specification, streams, 1, {}).noisy_sums);
  specification.Source(NoiseSource::kKernels).state = SourceState::kFixed;
  EXPECT_FALSE(ShardOptionsOf(specification, streams, 1, {&launcher}).noisy_sums);
  specification = Noisy("mlp");
  specification.sources.kernels_kind = "stock";
  EXPECT_FALSE(ShardOptionsOf(specification, streams, 1, {&launcher}).noisy_sums);
}

TEST(NoisyBiasTest, AGpuThatCannotBeNoisyIsRefusedAndAProcessorIsNot) {
  const at::Device gpu(at::kCUDA, 0);
  RehearsalLauncher launcher(1);
  const Specification noisy = Noisy("mlp");
  EXPECT_TRUE(CheckNoisySums(noisy, {at::kCPU}, {nullptr}).ok());
  EXPECT_TRUE(CheckNoisySums(noisy, {gpu}, {&launcher}).ok());
  for (const std::vector<cuda::KernelLauncher*>& launchers :
       {std::vector<cuda::KernelLauncher*>{nullptr}, {&launcher, nullptr}}) {
    const absl::Status status =
        CheckNoisySums(noisy, std::vector<at::Device>(launchers.size(), gpu), launchers);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("sources.kernels.kind: noisy"));
  }
  Specification fixed = noisy;
  fixed.Source(NoiseSource::kKernels).state = SourceState::kFixed;
  EXPECT_TRUE(CheckNoisySums(fixed, {gpu}, {nullptr}).ok());
}

}  // namespace
}  // namespace noisefloor::trainer
