#include "worker/trainer/torch/model/host_tensors.h"

#include "common/base/check.h"
#include "common/files/tensor_hash.h"

namespace noisefloor::trainer {

std::vector<float> HostValues(const at::Tensor& tensor) {
  const at::Tensor host = tensor.detach().to(at::kCPU, at::kFloat).contiguous();
  const float* data = host.const_data_ptr<float>();
  return {data, data + host.numel()};
}

HostTensors::HostTensors(const std::vector<NamedTensor>& tensors) {
  values_.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) {
    values_.push_back(HostValues(tensor.value));
    views_.push_back(
        MakeTensorView<float>(tensor.name, tensor.value.sizes().vec(), values_.back()));
  }
}

HostTensors HostTensors::Parameters(const Model& model) { return HostTensors(model.parameters()); }

HostTensors HostTensors::ParametersAndBuffers(const Model& model) {
  std::vector<NamedTensor> all = model.parameters();
  all.insert(all.end(), model.buffers().begin(), model.buffers().end());
  return HostTensors(all);
}

std::string HostTensors::Hash() const {
  const auto hash = HashTensors(views_);
  NF_CHECK(hash.ok());  // Names are unique and sizes follow the shapes.
  return *hash;
}

}  // namespace noisefloor::trainer
