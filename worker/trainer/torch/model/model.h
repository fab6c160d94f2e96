// A network and its weights under stable names ("conv1.weight"). Made with weights that are not
// yet set (NaN); init.h sets them. Not thread-safe; replicas of one model may be used on different
// threads at once, as long as nobody writes the weights they share.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/torch/model/layers.h"
#include "worker/trainer/torch/model/sequence.h"
#include "worker/trainer/torch/model/weights.h"

namespace noisefloor::trainer {

struct ModelShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t classes = 0;
};

class Model {
 public:
  // `shared`: the model whose weights this one shares, or null; borrowed during construction.
  Model(const ModelSettings& settings, const ModelShape& shape, const Place& place,
        const Model* shared);
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Logits {n, classes} of images {n, channels, height, width}.
  virtual at::Tensor Forward(const at::Tensor& images, const ForwardPass& pass) const {
    return network_(images, pass);
  }

  // In the order in which the network uses them.
  const std::vector<NamedTensor>& parameters() const { return weights_.parameters(); }
  const std::vector<NamedTensor>& buffers() const { return weights_.buffers(); }
  // Of parameters and buffers.
  at::ScalarType type() const { return weights_.type(); }
  // Turns parameters, buffers and statistics into this type, in place: layers hold the same ones.
  // Before there are replicas, which take it over.
  void ToType(at::ScalarType type) { weights_.ToType(type); }
  // The statistics of the last training batch, one tensor for each buffer, in the same order.
  const std::vector<at::Tensor>& batch_statistics() const { return weights_.batch_statistics(); }
  std::vector<at::Tensor> ParameterTensors() const;
  // What the learning rate of each parameter is multiplied by: of biases, those of norms too, as
  // given; 0 of what is not learned; 1 of the others.
  std::vector<double> Rates(double of_biases) const;
  int64_t ParameterCount() const;

 protected:
  Model() : weights_({}, nullptr) {}  // Without weights, for whoever overrides Forward.

 private:
  Weights weights_;
  Part network_;
};

// How images lie in memory that the network of these settings takes as they are.
Layout LayoutOf(const ModelSettings& settings);

// Whether images of this shape are large enough for the network: no tensor is made.
bool Fits(const ModelSettings& settings, const ModelShape& shape);

// The network of `settings.name`, for images that CheckImages (common/trainer_protocol/networks.h)
// takes. With `shared`, a replica: the same storage for weights and buffers, gradients of its own.
std::unique_ptr<Model> MakeModel(const ModelSettings& settings, const ModelShape& shape,
                                 at::Device device, const Model* shared = nullptr,
                                 at::ScalarType type = at::kFloat);

}  // namespace noisefloor::trainer
