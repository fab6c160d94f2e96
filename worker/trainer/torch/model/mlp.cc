#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

namespace {

// Flatten, two hidden layers with ReLU and dropout, dense.
class Mlp final : public Model {
 public:
  Mlp(const ModelSettings& settings, const ModelShape& shape, at::Device device,
      const Model* shared)
      : Model(settings, device, shared),
        dropouts_{{"dropout1", settings.dropout}, {"dropout2", settings.dropout}} {
    const int64_t pixels = shape.channels * shape.height * shape.width;
    first_ = MakeDense("dense1", pixels, settings.hidden);
    second_ = MakeDense("dense2", settings.hidden, settings.hidden);
    last_ = MakeDense("dense3", settings.hidden, shape.classes);
  }

  at::Tensor Forward(const at::Tensor& images, const ForwardPass& pass) const override {
    at::Tensor x = dropouts_[0](first_(images.flatten(1)).relu_(), pass);
    x = dropouts_[1](second_(x).relu_(), pass);
    return last_(x);
  }

 private:
  const Dropout dropouts_[2];
  Dense first_, second_, last_;
};

}  // namespace

std::unique_ptr<Model> MakeMlp(const ModelSettings& settings, const ModelShape& shape,
                               at::Device device, const Model* shared) {
  return std::make_unique<Mlp>(settings, shape, device, shared);
}

}  // namespace noisefloor::trainer
