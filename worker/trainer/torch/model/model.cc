#include "worker/trainer/torch/model/model.h"

#include <string_view>

#include "common/base/check.h"
#include "worker/trainer/torch/model/networks.h"

namespace noisefloor::trainer {

namespace {

using AddNetwork = void (*)(Sequence& net, int64_t classes);

template <int64_t... kBlocks>
void AddResNet(Sequence& net, int64_t classes) {
  AddBottleneckResNet(net, classes, {kBlocks...});
}

template <int64_t... kLayers>
void AddDense(Sequence& net, int64_t classes) {
  AddDenseNet(net, classes, {kLayers...});
}

template <int64_t kConvolutions>
void AddVggOf(Sequence& net, int64_t classes) {
  AddVgg(net, classes, kConvolutions);
}

constexpr std::pair<std::string_view, AddNetwork> kNetworks[] = {
    {"small_cnn", AddSmallCnn},
    {"medium_cnn", AddMediumCnn},
    {"kernel_cnn", AddKernelCnn},
    {"lenet", AddLeNet},
    {"mlp", AddMlp},
    {"resnet9", AddResNet9},
    {"resnet9_whitened", AddResNet9Whitened},
    {"resnet18", AddResNet18},
    {"resnet20", AddResNet20},
    {"resnet50", AddResNet<3, 4, 6, 3>},
    {"resnet101", AddResNet<3, 4, 23, 3>},
    {"resnet152", AddResNet<3, 8, 36, 3>},
    {"vgg16", AddVggOf<3>},
    {"vgg19", AddVggOf<4>},
    {"densenet121", AddDense<6, 12, 24, 16>},
    {"densenet169", AddDense<6, 12, 32, 32>},
    {"densenet201", AddDense<6, 12, 48, 32>},
    {"inception_v3", AddInceptionV3},
    {"xception", AddXception},
    {"mobilenet", AddMobileNet},
    {"efficientnet_b0", AddEfficientNetB0},
    {"vit", AddVisionTransformer},
};

AddNetwork Find(std::string_view name) {
  for (const auto& [known, add] : kNetworks) {
    if (known == name) return add;
  }
  NF_CHECK(!"the specification's table has a network that is not here");
  return nullptr;
}

}  // namespace

Model::Model(const ModelSettings& settings, const ModelShape& shape, const Place& place,
             const Model* shared)
    : weights_(place, shared == nullptr ? nullptr : &shared->weights_) {
  Sequence net({shape.channels, shape.height, shape.width}, settings, weights_);
  Find(settings.name)(net, shape.classes);
  NF_CHECK(net.fits());
  network_ = std::move(net);
}

std::vector<at::Tensor> Model::ParameterTensors() const {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : parameters()) tensors.push_back(parameter.value);
  return tensors;
}

std::vector<double> Model::Rates(double of_biases) const {
  std::vector<double> rates;
  for (const NamedTensor& parameter : parameters()) {
    const bool bias = parameter.name.ends_with(".bias");
    rates.push_back(parameter.begin == Begin::kWhitening ? 0.0 : bias ? of_biases : 1.0);
  }
  return rates;
}

int64_t Model::ParameterCount() const {
  int64_t count = 0;
  for (const NamedTensor& parameter : parameters()) count += parameter.value.numel();
  return count;
}

Layout LayoutOf(const ModelSettings& settings) {
  // Convolutions are fastest in channels_last; a dense layer takes rows in logical order.
  return settings.name == "mlp" ? Layout::kNchw : Layout::kNhwc;
}

bool Fits(const ModelSettings& settings, const ModelShape& shape) {
  Weights weights({at::kMeta}, nullptr);
  Sequence net({shape.channels, shape.height, shape.width}, settings, weights);
  Find(settings.name)(net, shape.classes);
  return net.fits();
}

std::unique_ptr<Model> MakeModel(const ModelSettings& settings, const ModelShape& shape,
                                 at::Device device, const Model* shared, at::ScalarType type) {
  return std::make_unique<Model>(settings, shape, Place{device, type}, shared);
}

}  // namespace noisefloor::trainer
