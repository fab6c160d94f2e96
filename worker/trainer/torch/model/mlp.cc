#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// Flatten, two hidden layers with ReLU and dropout, dense.
void AddMlp(Sequence& net, int64_t classes) {
  const int64_t hidden = net.settings().hidden;
  net.Flatten();
  net.Dense("dense1", hidden).Relu().Dropout("dropout1");
  net.Dense("dense2", hidden).Relu().Dropout("dropout2");
  net.Dense("dense3", classes);
}

}  // namespace noisefloor::trainer
