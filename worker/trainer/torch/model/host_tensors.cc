#include "worker/trainer/torch/model/host_tensors.h"

#include "common/base/check.h"
#include "common/files/tensor_hash.h"

namespace noisefloor::trainer {

namespace {

std::vector<NamedTensor> ParametersAndBuffersOf(const Model& model) {
  std::vector<NamedTensor> all = model.parameters();
  all.insert(all.end(), model.buffers().begin(), model.buffers().end());
  return all;
}

}  // namespace

std::vector<float> HostValues(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* data = host.const_data_ptr<float>();
  return {data, data + host.numel()};
}

HostTensors::HostTensors(const std::vector<NamedTensor>& tensors, at::ScalarType type) {
  for (const NamedTensor& tensor : tensors) {
    const at::Tensor& host =
        values_.emplace_back(tensor.value.detach().to(at::kCPU, type).contiguous().clone());
    const auto count = static_cast<size_t>(host.numel());
    const std::vector<int64_t> shape = tensor.value.sizes().vec();
    views_.push_back(
        type == at::kDouble
            ? MakeTensorView<double>(tensor.name, shape, {host.const_data_ptr<double>(), count})
            : MakeTensorView<float>(tensor.name, shape, {host.const_data_ptr<float>(), count}));
  }
}

HostTensors HostTensors::Parameters(const Model& model) {
  return HostTensors(model.parameters(), at::kFloat);
}

HostTensors HostTensors::ParametersAndBuffers(const Model& model) {
  return HostTensors(ParametersAndBuffersOf(model), model.type());
}

HostTensors HostTensors::ParametersAndBuffersAsFloats(const Model& model) {
  return HostTensors(ParametersAndBuffersOf(model), at::kFloat);
}

std::string HostTensors::Hash() const {
  const auto hash = HashTensors(views_);
  NF_CHECK(hash.ok());  // Names are unique and sizes follow the shapes.
  return *hash;
}

}  // namespace noisefloor::trainer
