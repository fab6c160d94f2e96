#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

constexpr int64_t kGrowth = 32;

// Batch norm -> ReLU -> conv1x1 -> batch norm -> ReLU -> conv3x3, joined to what it was given.
void AddLayer(Sequence& net, const std::string& name) {
  Sequence layer = net.Branch(name);
  layer.BatchNorm("bn1").Relu().Conv("conv1", {.out = 4 * kGrowth, .kernel = 1, .bias = false});
  layer.BatchNorm("bn2").Relu().Conv("conv2", {.out = kGrowth, .bias = false});
  net.Concatenate({net.Branch(), layer});
}

}  // namespace

// DenseNet-BC of Huang and others (2017) for ImageNet: growth 32, transitions that halve channels
// and pixels. 7,978,856 parameters of DenseNet-121 for 1000 classes; with statistics Keras'
// 8,062,504.
void AddDenseNet(Sequence& net, int64_t classes, const Depths& layers) {
  net.Conv("conv1", {.out = 64, .kernel = 7, .stride = 2, .bias = false}).BatchNorm("bn1").Relu();
  net.MaxPool({.kernel = 3, .stride = 2, .pads = true});
  for (size_t block = 1; block <= layers.size(); ++block) {
    for (int64_t i = 1; i <= layers[block - 1]; ++i) {
      AddLayer(net, "block" + std::to_string(block) + "." + std::to_string(i));
    }
    if (block == layers.size()) break;
    const std::string name = "transition" + std::to_string(block);
    net.BatchNorm(name + ".bn").Relu();
    net.Conv(name + ".conv", {.out = net.features().channels / 2, .kernel = 1, .bias = false});
    net.AveragePool({.kernel = 2, .stride = 2});
  }
  net.BatchNorm("bn2").Relu().WholeBatch().Mean().Dense("dense", classes);
}

}  // namespace noisefloor::trainer
