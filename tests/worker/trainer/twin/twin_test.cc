// The twin's derivatives are those of its forward passes: every layer against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "common/base/philox.h"
#include "tests/worker/trainer/twin/layers.h"
#include "tests/worker/trainer/twin/networks.h"

namespace noisefloor::trainer::twin {
namespace {

// Numbers in [-1, 1), no two alike.
void Fill(uint64_t seed, Array& array) {
  const PhiloxStream stream(7, seed);
  for (size_t i = 0; i < array.values.size(); ++i) {
    array.values[i] = 2 * (stream.Word(i) / 4294967296.0) - 1;
  }
}

// A number that depends on everything that a layer gives: the sum of its results times weights.
class Probe {
 public:
  Probe(std::unique_ptr<Layer> layer, const std::vector<int64_t>& shape)
      : layer_(std::move(layer)), x_(shape) {
    layer_->Declare(state_);
    uint64_t seed = 1;
    for (auto& [name, parameter] : state_.parameters) Fill(++seed, parameter);
    Fill(0, x_);
    factors_ = Forward();
    Fill(100, factors_);
  }

  void ExpectDerivatives() {
    (void)Forward();
    const Array dx = layer_->Backward(factors_, state_);
    const Arrays gradients = state_.gradients;
    ExpectDerivativesOf("x", x_, dx);
    for (auto& [name, parameter] : state_.parameters) {
      ExpectDerivativesOf(name, parameter, gradients.at(name));
    }
  }

 private:
  Array Forward() {
    return layer_->Forward(
        x_, {.training = true, .step = 3, .first_example = 2, .dropout = DropoutDraws(5)}, state_);
  }
  double Value() {
    const Array y = Forward();
    double sum = 0;
    for (size_t i = 0; i < y.values.size(); ++i) sum += y.values[i] * factors_.values[i];
    return sum;
  }

  void ExpectDerivativesOf(const std::string& name, Array& array, const Array& gradient) {
    constexpr double kStep = 1e-6;
    ASSERT_EQ(array.shape, gradient.shape) << name;
    for (size_t i = 0; i < array.values.size(); i += 1 + array.values.size() / 50) {
      const double value = array.values[i];
      array.values[i] = value + kStep;
      const double above = Value();
      array.values[i] = value - kStep;
      const double below = Value();
      array.values[i] = value;
      EXPECT_NEAR(gradient.values[i], (above - below) / (2 * kStep), 1e-6) << name << " " << i;
    }
  }

  const std::unique_ptr<Layer> layer_;
  State state_;
  Array x_, factors_;
};

TEST(TwinTest, DerivativesOfEveryLayerAreThoseOfDifferences) {
  const std::vector<int64_t> images = {3, 2, 7, 6};
  Probe(MakeConv("c", {.in = 2, .out = 5}), images).ExpectDerivatives();
  Probe(MakeConv("c", {.in = 2, .out = 5, .stride = 2, .bias = false}), images).ExpectDerivatives();
  Probe(MakeConv("c", {.in = 2, .out = 5, .kernel = 1, .stride = 2}), images).ExpectDerivatives();
  Probe(MakeBatchNorm("b", 2, 1e-3), images).ExpectDerivatives();
  Probe(MakeRelu(), images).ExpectDerivatives();
  Probe(MakeMaxPool(), images).ExpectDerivatives();
  Probe(MakeDropout("d", 0.3), images).ExpectDerivatives();
  Probe(MakeMean(), images).ExpectDerivatives();
  Probe(MakeFlatten(), images).ExpectDerivatives();
  Probe(MakeDense("d", 6, 4), {3, 6}).ExpectDerivatives();
}

TEST(TwinTest, DerivativesOfWholeNetworksAreThoseOfDifferences) {
  const ImageShape small{1, 8, 8};
  Probe(MakeNetwork({.name = "small_cnn", .batch_norm = false}, small, 10), {2, 1, 8, 8})
      .ExpectDerivatives();
  Probe(MakeNetwork({.name = "mlp", .dropout = 0.25, .hidden = 9}, small, 10), {2, 1, 8, 8})
      .ExpectDerivatives();
}

// By hand: 1 2 / 3 4 under a kernel of ones, with zeros round it, sums all four everywhere.
TEST(TwinTest, AConvolutionByHand) {
  const auto conv = MakeConv("c", {.in = 1, .out = 1});
  State state;
  conv->Declare(state);
  state.parameters.at("c.weight") = Array({1, 1, 3, 3}, 1);
  state.parameters.at("c.bias") = Array({1}, 0.5);
  Array x({1, 1, 2, 2});
  x.values = {1, 2, 3, 4};
  EXPECT_EQ(conv->Forward(x, {}, state).values, (std::vector<double>{10.5, 10.5, 10.5, 10.5}));

  std::vector<double>& weight = state.parameters.at("c.weight").values;
  weight.assign(9, 0);
  weight[1] = 1;  // The pixel above: a correlation, not turned round.
  EXPECT_EQ(conv->Forward(x, {}, state).values, (std::vector<double>{0.5, 0.5, 1.5, 2.5}));
}

TEST(TwinTest, BatchNormByHand) {
  const auto norm = MakeBatchNorm("b", 1, 0.25);
  State state;
  norm->Declare(state);
  state.parameters.at("b.weight") = Array({1}, 2);
  state.parameters.at("b.bias") = Array({1}, 1);
  state.buffers.at("b.running_mean") = Array({1}, 5);
  state.buffers.at("b.running_var") = Array({1}, 3.75);
  Array x({2, 1, 1, 2});
  x.values = {1, 3, 5, 7};  // Mean 4, squares 9 1 1 9.
  const double root = std::sqrt(5.25);
  const Array y = norm->Forward(x, {.training = true}, state);
  EXPECT_DOUBLE_EQ(y.values[3], 2 * 3 / root + 1);
  EXPECT_EQ(state.statistics.at("b.running_mean").values[0], 4);
  EXPECT_DOUBLE_EQ(state.statistics.at("b.running_var").values[0], 20.0 / 3);
  EXPECT_DOUBLE_EQ(norm->Forward(x, {.training = false}, state).values[3], 2 * 2 / 2.0 + 1);
}

}  // namespace
}  // namespace noisefloor::trainer::twin
