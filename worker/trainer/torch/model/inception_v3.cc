#include <string>
#include <vector>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

constexpr PoolOptions kHalve{.kernel = 3, .stride = 2};
constexpr PoolOptions kSmooth{.kernel = 3, .stride = 1, .pads = true};

ConvOptions Of(int64_t out, int64_t kernel, int64_t kernel_width = 0) {
  return {.out = out, .kernel = kernel, .kernel_width = kernel_width, .bias = false};
}
ConvOptions Halving(int64_t out) {
  return {.out = out, .kernel = 3, .stride = 2, .pads = false, .bias = false};
}
ConvOptions Inside(int64_t out, int64_t kernel) {
  return {.out = out, .kernel = kernel, .pads = false, .bias = false};
}

// Convolutions one after the other, "name.1", "name.2", ..., each with batch norm without a scale
// and ReLU.
Sequence& Chain(Sequence& net, const std::string& name, const std::vector<ConvOptions>& convs) {
  int number = 0;
  for (const ConvOptions& conv : convs) {
    const std::string layer = name + "." + std::to_string(++number);
    net.Conv(layer + ".conv", conv).BatchNormWithoutScale(layer + ".bn").Relu();
  }
  return net;
}

Sequence ChainOf(const Sequence& net, const std::string& name,
                 const std::vector<ConvOptions>& convs) {
  Sequence branch = net.Branch();
  return Chain(branch, name, convs);
}

Sequence Pooled(const Sequence& net, const std::string& name, int64_t out) {
  Sequence branch = net.Branch();
  branch.AveragePool(kSmooth);
  return Chain(branch, name, {Of(out, 1)});
}

Sequence Largest(const Sequence& net) { return net.Branch().MaxPool(kHalve); }

// Figure 5 of the paper.
void AddA(Sequence& net, const std::string& name, int64_t pooled) {
  net.Concatenate({ChainOf(net, name + ".one", {Of(64, 1)}),
                   ChainOf(net, name + ".five", {Of(48, 1), Of(64, 5)}),
                   ChainOf(net, name + ".three", {Of(64, 1), Of(96, 3), Of(96, 3)}),
                   Pooled(net, name + ".pool", pooled)});
}

// Figure 6, with n = 7.
void AddB(Sequence& net, const std::string& name, int64_t inner) {
  net.Concatenate(
      {ChainOf(net, name + ".one", {Of(192, 1)}),
       ChainOf(net, name + ".seven", {Of(inner, 1), Of(inner, 1, 7), Of(192, 7, 1)}),
       ChainOf(net, name + ".twice",
               {Of(inner, 1), Of(inner, 7, 1), Of(inner, 1, 7), Of(inner, 7, 1), Of(192, 1, 7)}),
       Pooled(net, name + ".pool", 192)});
}

// Figure 7: the last convolution of two branches is a pair.
void AddC(Sequence& net, const std::string& name) {
  const auto split = [&](Sequence branch, const std::string& pair) {
    branch.Concatenate({ChainOf(branch, pair + ".wide", {Of(384, 1, 3)}),
                        ChainOf(branch, pair + ".high", {Of(384, 3, 1)})});
    return branch;
  };
  net.Concatenate({ChainOf(net, name + ".one", {Of(320, 1)}),
                   split(ChainOf(net, name + ".three", {Of(384, 1)}), name + ".three"),
                   split(ChainOf(net, name + ".twice", {Of(448, 1), Of(384, 3)}), name + ".twice"),
                   Pooled(net, name + ".pool", 192)});
}

}  // namespace

// Inception v3 of Szegedy and others (2016) without the auxiliary classifier, as Keras has it:
// batch norm without a scale. 23,817,352 parameters for 1000 classes; with statistics Keras'
// 23,851,784.
void AddInceptionV3(Sequence& net, int64_t classes) {
  Chain(net, "stem.a", {Halving(32), Inside(32, 3), Of(64, 3)}).MaxPool(kHalve);
  Chain(net, "stem.b", {Inside(80, 1), Inside(192, 3)}).MaxPool(kHalve);
  AddA(net, "mixed0", 32);
  AddA(net, "mixed1", 64);
  AddA(net, "mixed2", 64);
  net.Concatenate({ChainOf(net, "mixed3.three", {Halving(384)}),
                   ChainOf(net, "mixed3.twice", {Of(64, 1), Of(96, 3), Halving(96)}),
                   Largest(net)});
  AddB(net, "mixed4", 128);
  AddB(net, "mixed5", 160);
  AddB(net, "mixed6", 160);
  AddB(net, "mixed7", 192);
  net.Concatenate(
      {ChainOf(net, "mixed8.three", {Of(192, 1), Halving(320)}),
       ChainOf(net, "mixed8.seven", {Of(192, 1), Of(192, 1, 7), Of(192, 7, 1), Halving(192)}),
       Largest(net)});
  AddC(net, "mixed9");
  AddC(net, "mixed10");
  net.WholeBatch().Mean().Dense("dense", classes);
}

}  // namespace noisefloor::trainer
