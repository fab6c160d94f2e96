#include "worker/trainer/torch/model/model.h"

#include <limits>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr float kNotSet = std::numeric_limits<float>::quiet_NaN();

const at::Tensor& Find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return tensor.value;
  }
  NF_CHECK(!"a replica asks for a weight that its model does not have");
  return tensors.front().value;
}

}  // namespace

at::Tensor Model::NewParameter(const std::string& name, at::IntArrayRef shape) {
  at::Tensor value;
  if (shared_ != nullptr) {
    value = Find(shared_->parameters_, name).detach();
  } else {
    const auto format =
        shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    value = at::empty(shape, at::TensorOptions(at::kFloat).device(device_).memory_format(format));
    value.fill_(kNotSet);
  }
  value.requires_grad_(true);
  parameters_.push_back({name, value});
  return value;
}

at::Tensor Model::NewBuffer(const std::string& name, at::IntArrayRef shape) {
  const auto options = at::TensorOptions(type_).device(device_);
  at::Tensor value =
      shared_ != nullptr ? Find(shared_->buffers_, name) : at::full(shape, kNotSet, options);
  buffers_.push_back({name, value});
  batch_statistics_.push_back(at::zeros(shape, options));
  return value;
}

Conv Model::MakeConv(const std::string& name, const ConvOptions& options) {
  Conv conv;
  conv.weight =
      NewParameter(name + ".weight", {options.out, options.in, options.kernel, options.kernel});
  if (options.bias) conv.bias = NewParameter(name + ".bias", {options.out});
  conv.stride = options.stride;
  conv.padding = options.kernel / 2;
  return conv;
}

Dense Model::MakeDense(const std::string& name, int64_t in, int64_t out) {
  Dense dense;
  dense.weight = NewParameter(name + ".weight", {out, in});
  dense.bias = NewParameter(name + ".bias", {out});
  return dense;
}

BatchNorm Model::MakeBatchNorm(const std::string& name, int64_t channels) {
  BatchNorm norm;
  norm.weight = NewParameter(name + ".weight", {channels});
  norm.bias = NewParameter(name + ".bias", {channels});
  norm.running_mean = NewBuffer(name + ".running_mean", {channels});
  norm.batch_mean = batch_statistics_.back();
  norm.running_var = NewBuffer(name + ".running_var", {channels});
  norm.batch_variance = batch_statistics_.back();
  norm.epsilon = settings_.batch_norm_epsilon;
  return norm;
}

void Model::ToType(at::ScalarType type) {
  type_ = type;
  for (const NamedTensor& one : parameters_) one.value.set_data(one.value.detach().to(type));
  for (const NamedTensor& one : buffers_) one.value.set_data(one.value.to(type));
  for (const at::Tensor& one : batch_statistics_) one.set_data(one.to(type));
}

std::vector<at::Tensor> Model::ParameterTensors() const {
  std::vector<at::Tensor> tensors;
  for (const NamedTensor& parameter : parameters_) tensors.push_back(parameter.value);
  return tensors;
}

int64_t Model::ParameterCount() const {
  int64_t count = 0;
  for (const NamedTensor& parameter : parameters_) count += parameter.value.numel();
  return count;
}

Layout LayoutOf(const ModelSettings& settings) {
  // Convolutions are fastest in channels_last; a dense layer takes rows in logical order.
  return settings.name == "mlp" ? Layout::kNchw : Layout::kNhwc;
}

std::unique_ptr<Model> MakeModel(const ModelSettings& settings, const ModelShape& shape,
                                 at::Device device, const Model* shared) {
  if (settings.name == "small_cnn") return MakeSmallCnn(settings, shape, device, shared);
  if (settings.name == "medium_cnn") return MakeMediumCnn(settings, shape, device, shared);
  if (settings.name == "resnet18") return MakeResNet18(settings, shape, device, shared);
  NF_CHECK(settings.name == "mlp");  // The specification's table allows no other.
  return MakeMlp(settings, shape, device, shared);
}

}  // namespace noisefloor::trainer
