// The networks, one file a family. Each adds its layers to `net`, which begins with the images, up
// to the logits of so many classes. Init: what is not said otherwise begins by model.init.
#pragma once

#include <array>
#include <cstdint>

#include "worker/trainer/torch/model/sequence.h"

namespace noisefloor::trainer {

// Blocks or layers in each stage.
using Depths = std::array<int64_t, 4>;

void AddSmallCnn(Sequence& net, int64_t classes);
void AddMediumCnn(Sequence& net, int64_t classes);
void AddKernelCnn(Sequence& net, int64_t classes);
void AddLeNet(Sequence& net, int64_t classes);
void AddMlp(Sequence& net, int64_t classes);

void AddResNet9(Sequence& net, int64_t classes);
void AddResNet9Whitened(Sequence& net, int64_t classes);
void AddResNet18(Sequence& net, int64_t classes);
void AddResNet20(Sequence& net, int64_t classes);
void AddBottleneckResNet(Sequence& net, int64_t classes, const Depths& blocks);

// `convolutions` of each of the last three stages; the first two have two.
void AddVgg(Sequence& net, int64_t classes, int64_t convolutions);
void AddDenseNet(Sequence& net, int64_t classes, const Depths& layers);
void AddInceptionV3(Sequence& net, int64_t classes);
void AddXception(Sequence& net, int64_t classes);
void AddMobileNet(Sequence& net, int64_t classes);
void AddEfficientNetB0(Sequence& net, int64_t classes);
void AddVisionTransformer(Sequence& net, int64_t classes);

}  // namespace noisefloor::trainer
