// Tensors as files and hashes see them: values on the host, in logical order.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/files/tensor.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Owns copies of tensors of float or double; its views borrow them and are valid as long as it
// lives.
class HostTensors {
 public:
  // As `type`, whatever they are.
  HostTensors(const std::vector<NamedTensor>& tensors, at::ScalarType type);
  // As floats, which all weights are before the first step.
  static HostTensors Parameters(const Model& model);
  // In the model's own type.
  static HostTensors ParametersAndBuffers(const Model& model);
  // As files have them.
  static HostTensors ParametersAndBuffersAsFloats(const Model& model);

  const std::vector<TensorView>& views() const { return views_; }
  std::string Hash() const;  // common/files/tensor_hash.h

 private:
  std::vector<at::Tensor> values_;  // On the host, contiguous.
  std::vector<TensorView> views_;
};

// A tensor's float values on the host in logical order.
std::vector<float> HostValues(const at::Tensor& tensor);

}  // namespace noisefloor::trainer
