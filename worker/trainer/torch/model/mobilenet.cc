#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

struct Block {
  int64_t out = 0;
  int64_t stride = 1;
};

// Table 1 of the paper.
constexpr Block kBlocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                             {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};

}  // namespace

// MobileNet of Howard and others (2017), width 1, with ReLU up to 6 and dropout before the last
// layer as in Keras. 4,231,976 parameters for 1000 classes; with statistics Keras' 4,253,864.
void AddMobileNet(Sequence& net, int64_t classes) {
  // Of images of one pixel, as they get inside, the bits depend on how many there are.
  net.WholeBatch().ConvBn("stem", {.out = 32, .stride = 2}).Relu6();
  int number = 0;
  for (const auto& [out, stride] : kBlocks) {
    const std::string name = "block" + std::to_string(++number);
    net.Depthwise(name + ".depthwise", {.stride = stride, .bias = false});
    net.BatchNorm(name + ".bn").Relu6();
    net.ConvBn(name + ".point", {.out = out, .kernel = 1}).Relu6();
  }
  net.Mean().Dropout("dropout").Dense("dense", classes);
}

}  // namespace noisefloor::trainer
