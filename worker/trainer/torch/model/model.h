// A network and its weights under stable names ("conv1.weight"). Made with weights that are not
// yet set (NaN); init.h sets them. Not thread-safe; replicas of one model may be used on different
// threads at once, as long as nobody writes the weights they share.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/data/augment.h"
#include "worker/trainer/torch/model/layers.h"

namespace noisefloor::trainer {

struct NamedTensor {
  std::string name;
  at::Tensor value;
};

struct ModelShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t classes = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Logits {n, classes} of images {n, channels, height, width}.
  virtual at::Tensor Forward(const at::Tensor& images, const ForwardPass& pass) const = 0;

  // In the order in which the network uses them.
  const std::vector<NamedTensor>& parameters() const { return parameters_; }
  const std::vector<NamedTensor>& buffers() const { return buffers_; }
  // Of parameters and buffers: float, or what ToType made of them.
  at::ScalarType type() const { return type_; }
  // Turns parameters, buffers and statistics into this type, in place: layers hold the same ones.
  // Before there are replicas, which take it over.
  void ToType(at::ScalarType type);
  // The statistics of the last training batch, one tensor for each buffer, in the same order.
  const std::vector<at::Tensor>& batch_statistics() const { return batch_statistics_; }
  std::vector<at::Tensor> ParameterTensors() const;
  int64_t ParameterCount() const;

 protected:
  // `shared`: the model whose weights this one shares, or null; borrowed during construction.
  Model(const ModelSettings& settings, at::Device device, const Model* shared)
      : settings_(settings),
        device_(device),
        shared_(shared),
        type_(shared == nullptr ? at::kFloat : shared->type_) {}

  struct ConvOptions {
    int64_t in = 0;
    int64_t out = 0;
    int64_t kernel = 3;
    int64_t stride = 1;
    bool bias = true;
  };
  Conv MakeConv(const std::string& name, const ConvOptions& options);
  Dense MakeDense(const std::string& name, int64_t in, int64_t out);
  BatchNorm MakeBatchNorm(const std::string& name, int64_t channels);
  const ModelSettings& settings() const { return settings_; }

 private:
  at::Tensor NewParameter(const std::string& name, at::IntArrayRef shape);
  at::Tensor NewBuffer(const std::string& name, at::IntArrayRef shape);

  const ModelSettings settings_;
  const at::Device device_;
  const Model* shared_;
  at::ScalarType type_;
  std::vector<NamedTensor> parameters_;
  std::vector<NamedTensor> buffers_;
  std::vector<at::Tensor> batch_statistics_;
};

// How images lie in memory that the network of these settings takes as they are.
Layout LayoutOf(const ModelSettings& settings);

// The network of `settings.name`. With `shared`, a replica: the same storage for weights and
// buffers, gradients of its own.
std::unique_ptr<Model> MakeModel(const ModelSettings& settings, const ModelShape& shape,
                                 at::Device device, const Model* shared = nullptr);

// One file for each family.
std::unique_ptr<Model> MakeSmallCnn(const ModelSettings&, const ModelShape&, at::Device,
                                    const Model*);
std::unique_ptr<Model> MakeMediumCnn(const ModelSettings&, const ModelShape&, at::Device,
                                     const Model*);
std::unique_ptr<Model> MakeResNet18(const ModelSettings&, const ModelShape&, at::Device,
                                    const Model*);
std::unique_ptr<Model> MakeMlp(const ModelSettings&, const ModelShape&, at::Device, const Model*);

}  // namespace noisefloor::trainer
