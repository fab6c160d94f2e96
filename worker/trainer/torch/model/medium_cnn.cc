#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

// Of Fort, Hu, Lakshminarayanan (2019): four times conv3x3 -> dropout -> maxpool2 -> ReLU with 64,
// 128, 256, 256 channels, flatten, dense. 971,146 parameters on CIFAR-10.
void AddMediumCnn(Sequence& net, int64_t classes) {
  int number = 0;
  for (const int64_t out : {64, 128, 256, 256}) {
    const std::string suffix = std::to_string(++number);
    net.Conv("conv" + suffix, {.out = out}).Dropout("dropout" + suffix).MaxPoolRelu();
  }
  net.WholeBatch().Flatten().Dense("dense", classes);
}

// MediumCNN of Zhuang, Zhang, Song, Hooker (2022), by which they ask what determinism costs: six
// times conv k x k -> batch norm -> ReLU -> maxpool2 with 16 to 512 channels, global average pool,
// dense; k is model.kernel. Of 64 x 64 pixels the last pool leaves one; of fewer, what is one pixel
// high or wide is not pooled again.
void AddKernelCnn(Sequence& net, int64_t classes) {
  int number = 0;
  for (const int64_t out : {16, 32, 64, 128, 256, 512}) {
    const std::string suffix = std::to_string(++number);
    net.Conv("conv" + suffix, {.out = out, .kernel = net.settings().kernel});
    net.BatchNorm("bn" + suffix);
    const bool pooled = net.features().height > 1 && net.features().width > 1;
    pooled ? net.MaxPoolRelu() : net.Relu();
  }
  net.WholeBatch().Mean().Dense("dense", classes);
}

}  // namespace noisefloor::trainer
