#include <algorithm>
#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// VGG-16 and -19 of Simonyan and Zisserman (2015), configurations D and E: five stages of conv3x3
// -> ReLU, pooled, two hidden layers of 4096 with dropout, dense. For 224 x 224 and 1000 classes
// 138,357,544 and 143,667,240 parameters.
void AddVgg(Sequence& net, int64_t classes, int64_t convolutions) {
  for (int64_t stage = 1; stage <= 5; ++stage) {
    const int64_t count = stage < 3 ? 2 : convolutions;
    const int64_t out = std::min<int64_t>(512, int64_t{32} << stage);
    for (int64_t i = 1; i <= count; ++i) {
      net.Conv("conv" + std::to_string(stage) + "_" + std::to_string(i), {.out = out});
      if (i < count) net.Relu();
    }
    net.MaxPoolRelu();
  }
  net.WholeBatch().Flatten();
  net.Dense("dense1", 4096).Relu().Dropout("dropout1");
  net.Dense("dense2", 4096).Relu().Dropout("dropout2");
  net.Dense("dense3", classes);
}

}  // namespace noisefloor::trainer
