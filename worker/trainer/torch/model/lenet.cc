#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// LeNet-5 of LeCun and others (1998) as it is written today: ReLU and max pooling, all channels
// joined, no zeros round the images. 61,706 parameters for one channel of 32 x 32.
void AddLeNet(Sequence& net, int64_t classes) {
  net.Conv("conv1", {.out = 6, .kernel = 5, .pads = false}).MaxPoolRelu();
  net.Conv("conv2", {.out = 16, .kernel = 5, .pads = false}).MaxPoolRelu();
  net.WholeBatch().Flatten();
  net.Dense("dense1", 120).Relu().Dense("dense2", 84).Relu().Dense("dense3", classes);
}

}  // namespace noisefloor::trainer
