#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

std::string BlockName(int64_t stage, int64_t block) {
  return "layer" + std::to_string(stage) + "." + std::to_string(block);
}

// Goyal and others (2017) begin with blocks that only pass on what they are given.
Begin LastNorm(const Sequence& net) {
  return net.settings().zero_last_norm ? Begin::kZero : Begin::kBySetting;
}

void AddBasic(Sequence& net, const std::string& name, int64_t out, int64_t stride) {
  Sequence inner = net.Branch(name);
  inner.Conv("conv1", {.out = out, .stride = stride, .bias = false}).BatchNorm("bn1").Relu();
  inner.Conv("conv2", {.out = out, .bias = false}).BatchNorm("bn2", LastNorm(net));
  Sequence around = net.Branch(name + ".shortcut");
  if (stride != 1 || net.features().channels != out) {
    around.Conv("conv", {.out = out, .kernel = 1, .stride = stride, .bias = false}).BatchNorm("bn");
  }
  net.Add(inner, around).Relu();
}

// Version 1.5: the stride is that of the 3x3 convolution.
void AddBottleneck(Sequence& net, const std::string& name, int64_t width, int64_t stride) {
  const int64_t out = 4 * width;
  Sequence inner = net.Branch(name);
  inner.Conv("conv1", {.out = width, .kernel = 1, .bias = false}).BatchNorm("bn1").Relu();
  inner.Conv("conv2", {.out = width, .stride = stride, .bias = false}).BatchNorm("bn2").Relu();
  inner.Conv("conv3", {.out = out, .kernel = 1, .bias = false}).BatchNorm("bn3", LastNorm(net));
  Sequence around = net.Branch(name + ".shortcut");
  if (stride != 1 || net.features().channels != out) {
    around.Conv("conv", {.out = out, .kernel = 1, .stride = stride, .bias = false}).BatchNorm("bn");
  }
  net.Add(inner, around).Relu();
}

// All of a ResNet-9 that does not depend on which stem it has.
void AddBehindStem(Sequence& net, int64_t classes) {
  const int64_t width = net.settings().width;
  const auto residual = [&](const std::string& name) {
    const int64_t out = net.features().channels;
    Sequence inner = net.Branch(name);
    inner.ConvBn("1", {.out = out}).Relu().ConvBn("2", {.out = out}).Relu();
    net.Add(inner, net.Branch());
  };
  net.ConvBn("layer1", {.out = 2 * width}).MaxPoolRelu();
  residual("residual1");
  net.ConvBn("layer2", {.out = 4 * width}).MaxPoolRelu();
  net.ConvBn("layer3", {.out = 8 * width}).MaxPoolRelu();
  residual("residual3");
  net.WholeBatch().Largest().Dense("dense", classes).Times(0.125);
}

}  // namespace

// For 32x32 images: 3x3 stem with 64 channels and no pool, two basic blocks in each of four stages
// (64, 128, 256, 512; stages after the first enter with stride 2), average pool 4x4, dense.
// 11,173,962 parameters on CIFAR-10, 11,220,132 on CIFAR-100.
void AddResNet18(Sequence& net, int64_t classes) {
  net.Conv("conv1", {.out = 64, .bias = false}).BatchNorm("bn1").Relu();
  for (int64_t stage = 1; stage <= 4; ++stage) {
    for (int64_t i = 0; i < 2; ++i) {
      AddBasic(net, BlockName(stage, i), int64_t{32} << stage, i == 0 && stage > 1 ? 2 : 1);
    }
  }
  net.WholeBatch().AveragePool({.kernel = 4, .stride = 4}).Flatten().Dense("dense", classes);
}

// Of He and others (2016) for CIFAR-10: three stages of three basic blocks (16, 32, 64), shortcuts
// without weights. 269,722 parameters.
void AddResNet20(Sequence& net, int64_t classes) {
  net.Conv("conv1", {.out = 16, .bias = false}).BatchNorm("bn1").Relu();
  for (int64_t stage = 1; stage <= 3; ++stage) {
    const int64_t out = int64_t{8} << stage;
    for (int64_t i = 0; i < 3; ++i) {
      const bool enters = i == 0 && stage > 1;
      Sequence inner = net.Branch(BlockName(stage, i));
      inner.Conv("conv1", {.out = out, .stride = enters ? 2 : 1, .bias = false});
      inner.BatchNorm("bn1").Relu();
      inner.Conv("conv2", {.out = out, .bias = false}).BatchNorm("bn2", LastNorm(net));
      Sequence around = net.Branch();
      if (enters) around.HalfWithZeros(out);
      net.Add(inner, around).Relu();
    }
  }
  net.WholeBatch().Mean().Dense("dense", classes);
}

// ResNet-50, -101, -152 of He and others (2015) with 7x7 stem and pool, version 1.5. The last dense
// layer begins normal with deviation 0.01 (Goyal and others 2017). For 1000 classes ResNet-50 has
// 25,557,032 parameters; Keras' 25,636,712 are with biases before each batch norm, which move
// nothing, and with its statistics.
void AddBottleneckResNet(Sequence& net, int64_t classes, const Depths& blocks) {
  net.Conv("conv1", {.out = 64, .kernel = 7, .stride = 2, .bias = false}).BatchNorm("bn1").Relu();
  net.MaxPool({.kernel = 3, .stride = 2, .pads = true});
  for (int64_t stage = 1; stage <= 4; ++stage) {
    for (int64_t i = 0; i < blocks.at(static_cast<size_t>(stage - 1)); ++i) {
      AddBottleneck(net, BlockName(stage, i), int64_t{32} << stage, i == 0 && stage > 1 ? 2 : 1);
    }
  }
  net.WholeBatch().Mean().Dense("dense", classes, Begin::kOneHundredth);
}

// Of Page (2018) for CIFAR-10: a stem, three convolutions that double the channels and are pooled,
// two residual blocks, the largest of what is left, an eighth of a dense layer. model.width is the
// stem's channels: 64 as published, 6,573,130 parameters (his dense layer has no bias: 10 fewer).
void AddResNet9(Sequence& net, int64_t classes) {
  net.ConvBn("stem", {.out = net.settings().width}).Relu();
  AddBehindStem(net, classes);
}

// The same behind a stem that whitens patches, of which only the shifts are learned, as Page (2019)
// and Jordan (2024) have it. model.width is half of the next layer's channels.
void AddResNet9Whitened(Sequence& net, int64_t classes) {
  net.Whiten("stem").Relu();
  AddBehindStem(net, classes);
}

}  // namespace noisefloor::trainer
