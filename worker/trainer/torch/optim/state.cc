#include "worker/trainer/torch/optim/state.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace noisefloor::trainer {

void AddTensors(const std::string& prefix, const std::vector<at::Tensor>& tensors,
                OptimizerState& state) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    state.tensors.push_back({prefix + "/" + std::to_string(i), tensors[i]});
  }
}

absl::Status TakeTensors(const OptimizerState& state, const std::string& prefix,
                         const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = prefix + "/" + std::to_string(i);
    const auto found = std::ranges::find(state.tensors, name, &NamedTensor::name);
    if (found == state.tensors.end()) return InvalidInput(name + ": missing");
    at::Tensor live = tensors[i];
    if (found->value.sizes() != live.sizes() || found->value.dtype() != live.dtype()) {
      return InvalidInput(name + ": of another shape or type than the parameter's");
    }
    live.copy_(found->value);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TakeCounter(const OptimizerState& state, const std::string& name) {
  const auto found = state.counters.find(name);
  if (found == state.counters.end()) return InvalidInput(name + ": missing");
  return found->second;
}

}  // namespace noisefloor::trainer
