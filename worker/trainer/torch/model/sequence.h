// The vocabulary that networks are written in: layers one after the other, branches beside each
// other. A sequence knows the shape of what reaches its end, so that a layer is told only what it
// makes of it, and names weights below its own name: "layer1.0" + "conv1" =
// "layer1.0.conv1.weight".
//
//   net.Conv("conv1", {.out = 64, .bias = false}).BatchNorm("bn1").Relu();
//   net.Add(net.Branch("block").Conv(...).BatchNorm(...), net.Branch("block.shortcut"));
//
// Weights are made in the order of these calls.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/torch/model/layers.h"
#include "worker/trainer/torch/model/weights.h"

namespace noisefloor::trainer {

// Of one example between two layers. Rows of numbers are channels of 1 x 1; tokens have a height.
struct Features {
  int64_t channels = 0;
  int64_t height = 1;
  int64_t width = 1;
};

// From what reaches a layer to what leaves it. It may write into what it is given when it was moved
// there. Holds handles of weights; any thread.
using Part = std::function<at::Tensor(at::Tensor x, const ForwardPass& pass)>;

struct ConvOptions {
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t kernel_width = 0;  // 0: as high as wide.
  int64_t stride = 1;
  bool pads = true;  // Zeros all round, kernel / 2 of them: the size is kept but for the stride.
  bool bias = true;
};

struct PoolOptions {
  int64_t kernel = 3;
  int64_t stride = 2;
  bool pads = false;  // kernel / 2 all round, which are no pixels: neither largest nor averaged.
};

class Sequence {
 public:
  // `settings` and `weights` are borrowed while layers are added, not by the parts.
  Sequence(const Features& in, const ModelSettings& settings, Weights& weights)
      : settings_(&settings), weights_(&weights), features_(in) {}

  // Layers with weights.
  Sequence& Conv(const std::string& name, const ConvOptions& options);
  // Patches of the images as worker/trainer/data/whitening.h whitens them, which is not learned but
  // for the shifts. A pixel less each way. Before any other layer.
  Sequence& Whiten(const std::string& name);
  // A kernel for each channel.
  Sequence& Depthwise(const std::string& name, const ConvOptions& options);
  Sequence& BatchNorm(const std::string& name, Begin begin = Begin::kBySetting);
  Sequence& BatchNormWithoutScale(const std::string& name);
  // "name.conv" without a bias, "name.bn".
  Sequence& ConvBn(const std::string& name, ConvOptions options);
  Sequence& Dense(const std::string& name, int64_t out, Begin begin = Begin::kBySetting);
  // What is learned for each place.
  Sequence& AddPositions(const std::string& name);
  Sequence& LayerNorm(const std::string& name);
  Sequence& Attention(const std::string& name, int64_t heads);

  // Layers without.
  Sequence& Relu();
  Sequence& Relu6();
  Sequence& Silu();
  Sequence& Gelu();
  Sequence& Sigmoid();
  Sequence& Times(double factor);
  Sequence& MaxPool(const PoolOptions& options);
  Sequence& AveragePool(const PoolOptions& options);
  Sequence& MaxPoolRelu();                     // Of 2 x 2 pixels.
  Sequence& Mean();                            // Of all pixels of a channel: {n, c}.
  Sequence& MeanPixel();                       // The same as an image of one pixel.
  Sequence& Largest();                         // {n, c}
  Sequence& Flatten();                         // {n, c h w}
  Sequence& Tokens();                          // Pixels as tokens, row by row: {n, h w, c}.
  Sequence& MeanToken();                       // {n, c}
  Sequence& Dropout(const std::string& name);  // model.dropout
  // Every second pixel, and channels of zeros before and after up to `out`: He and others' shortcut
  // without weights (2016, option A).
  Sequence& HalfWithZeros(int64_t out);

  // An empty sequence that begins where this one ends.
  Sequence Branch(const std::string& name = "") const;
  Sequence& Append(const Sequence& next);                        // next(x)
  Sequence& Add(const Sequence& inner, const Sequence& around);  // inner(x) + around(x)
  Sequence& Concatenate(const std::vector<Sequence>& branches);  // By channels.
  Sequence& Scale(const Sequence& gate);                         // x gate(x)

  // What follows sees a batch of a test whole: InParts.
  Sequence& WholeBatch();

  const Features& features() const { return features_; }
  const ModelSettings& settings() const { return *settings_; }
  // False when a window of some layer is larger than what reaches it.
  bool fits() const { return fits_; }
  at::Tensor operator()(at::Tensor x, const ForwardPass& pass) const;

 private:
  Sequence& Then(Part part, const Features& features, bool own = true);
  Sequence& AddConv(const std::string& name, const ConvOptions& options, int64_t groups,
                    Begin weight = Begin::kBySetting, Begin bias = Begin::kBySetting);
  void AddBatchNorm(const std::string& name, const at::Tensor& weight);
  Features After(int64_t channels, const ConvOptions& window) const;
  void Join(const Sequence& other) { fits_ = fits_ && other.fits_; }
  std::string NameOf(const std::string& layer) const;

  const ModelSettings* settings_;
  Weights* weights_;
  std::string name_;
  Features features_;
  bool fits_ = true;
  bool own_ = false;  // Nobody else needs what leaves the last layer: the next may write into it.
  size_t in_parts_ = 0;
  std::vector<Part> parts_;
};

}  // namespace noisefloor::trainer
