#include "worker/trainer/torch/model/model.h"
#include "worker/trainer/torch/model/pool_relu.h"

namespace noisefloor::trainer {

namespace {

// Of Fort, Hu, Lakshminarayanan (2019): four times conv3x3 -> dropout -> maxpool2 -> ReLU with 64,
// 128, 256, 256 channels, flatten, dense. 971,146 parameters on CIFAR-10.
class MediumCnn final : public Model {
 public:
  MediumCnn(const ModelSettings& settings, const ModelShape& shape, at::Device device,
            const Model* shared)
      : Model(settings, device, shared) {
    int64_t channels = shape.channels;
    for (const int64_t out : {64, 128, 256, 256}) {
      const std::string number = std::to_string(convs_.size() + 1);
      convs_.push_back(MakeConv("conv" + number, {.in = channels, .out = out}));
      dropouts_.push_back({"dropout" + number, settings.dropout});
      channels = out;
    }
    last_ = MakeDense("dense", channels * (shape.height / 16) * (shape.width / 16), shape.classes);
  }

  at::Tensor Forward(const at::Tensor& images, const ForwardPass& pass) const override {
    const at::Tensor x = InParts(images, pass, [&](at::Tensor part) {
      for (size_t i = 0; i < convs_.size(); ++i) {
        part = PoolThenRelu(dropouts_[i](convs_[i](part), pass));
      }
      return part;
    });
    return last_(x.flatten(1));
  }

 private:
  std::vector<Conv> convs_;
  std::vector<Dropout> dropouts_;
  Dense last_;
};

}  // namespace

std::unique_ptr<Model> MakeMediumCnn(const ModelSettings& settings, const ModelShape& shape,
                                     at::Device device, const Model* shared) {
  return std::make_unique<MediumCnn>(settings, shape, device, shared);
}

}  // namespace noisefloor::trainer
