#include "worker/trainer/torch/model/weights.h"

#include <limits>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr float kNotSet = std::numeric_limits<float>::quiet_NaN();

// A replica asks for what its model has, in the same order.
const at::Tensor& Shared(const std::vector<NamedTensor>& tensors, size_t place,
                         const std::string& name) {
  NF_CHECK(place < tensors.size() && tensors[place].name == name);
  return tensors[place].value;
}

}  // namespace

at::Tensor Weights::NewParameter(const std::string& name, at::IntArrayRef shape, Begin begin) {
  at::Tensor value;
  if (shared_ != nullptr) {
    value = Shared(shared_->parameters_, parameters_.size(), name).detach();
  } else {
    const auto format =
        shape.size() == 4 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
    value = at::empty(shape,
                      at::TensorOptions(place_.type).device(place_.device).memory_format(format));
    value.fill_(kNotSet);
  }
  value.requires_grad_(true);
  parameters_.push_back({name, value, begin});
  return value;
}

at::Tensor Weights::NewBuffer(const std::string& name, at::IntArrayRef shape,
                              at::Tensor& statistic) {
  const auto options = at::TensorOptions(place_.type).device(place_.device);
  at::Tensor value = shared_ != nullptr ? Shared(shared_->buffers_, buffers_.size(), name)
                                        : at::full(shape, kNotSet, options);
  buffers_.push_back({name, value});
  statistic = at::zeros(shape, options);
  batch_statistics_.push_back(statistic);
  return value;
}

void Weights::ToType(at::ScalarType type) {
  place_.type = type;
  for (const NamedTensor& one : parameters_) one.value.set_data(one.value.detach().to(type));
  for (const NamedTensor& one : buffers_) one.value.set_data(one.value.to(type));
  for (const at::Tensor& one : batch_statistics_) one.set_data(one.to(type));
}

}  // namespace noisefloor::trainer
