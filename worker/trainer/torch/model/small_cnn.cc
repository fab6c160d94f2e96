#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// Three times conv3x3 -> [batch norm] -> ReLU -> maxpool2 (16, 32, 32 channels), global average
// pool, dense 32 with ReLU, dense. 15,722 parameters on CIFAR-10 without batch norm.
void AddSmallCnn(Sequence& net, int64_t classes) {
  int number = 0;
  for (const int64_t out : {16, 32, 32}) {
    const std::string suffix = std::to_string(++number);
    net.Conv("conv" + suffix, {.out = out});
    if (net.settings().batch_norm) net.BatchNorm("bn" + suffix);
    net.MaxPoolRelu();
  }
  net.WholeBatch().Mean().Dense("dense1", 32).Relu().Dense("dense2", classes);
}

}  // namespace noisefloor::trainer
