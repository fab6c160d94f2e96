#include <algorithm>
#include <string>

#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

struct Stage {
  int64_t count = 1;
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;  // Of its first block.
  int64_t expand = 6;  // Channels inside a block, in those of its input.
};

// Table 1 of the paper.
constexpr Stage kStages[] = {{1, 16, 3, 1, 1}, {2, 24, 3, 2},  {2, 40, 5, 2}, {3, 80, 3, 2},
                             {3, 112, 5, 1},   {4, 192, 5, 2}, {1, 320, 3, 1}};

// A factor for each channel, from its mean (Hu and others 2018).
void AddSqueezeExcite(Sequence& net, int64_t squeezed) {
  Sequence gate = net.Branch();
  gate.MeanPixel().Conv("squeeze", {.out = squeezed, .kernel = 1}).Silu();
  gate.Conv("excite", {.out = net.features().channels, .kernel = 1}).Sigmoid();
  net.Scale(gate);
}

// Sandler and others (2018): wide inside, narrow between.
void AddInverted(Sequence& net, const std::string& name, const Stage& stage, int64_t stride) {
  const int64_t in = net.features().channels;
  Sequence inner = net.Branch(name);
  if (stage.expand > 1) inner.ConvBn("expand", {.out = stage.expand * in, .kernel = 1}).Silu();
  inner.Depthwise("depthwise", {.kernel = stage.kernel, .stride = stride, .bias = false});
  inner.BatchNorm("bn").Silu();
  AddSqueezeExcite(inner, std::max<int64_t>(1, in / 4));
  inner.ConvBn("project", {.out = stage.out, .kernel = 1});
  stride == 1 && in == stage.out ? net.Add(inner, net.Branch()) : net.Append(inner);
}

}  // namespace

// EfficientNet-B0 of Tan and Le (2019) with dropout before the last layer and no stochastic depth.
// 5,288,548 parameters for 1000 classes; with statistics 5,330,564, which Keras' 5,330,571 are with
// the 7 numbers of a layer that standardises images.
void AddEfficientNetB0(Sequence& net, int64_t classes) {
  // Of images of one pixel, as they get inside, the bits depend on how many there are.
  net.WholeBatch().ConvBn("stem", {.out = 32, .stride = 2}).Silu();
  int number = 0;
  for (const Stage& stage : kStages) {
    const std::string name = "stage" + std::to_string(++number) + ".";
    for (int64_t i = 0; i < stage.count; ++i) {
      AddInverted(net, name + std::to_string(i), stage, i == 0 ? stage.stride : 1);
    }
  }
  net.ConvBn("top", {.out = 1280, .kernel = 1}).Silu();
  net.Mean().Dropout("dropout").Dense("dense", classes);
}

}  // namespace noisefloor::trainer
