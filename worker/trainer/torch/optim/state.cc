#include "worker/trainer/torch/optim/state.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace noisefloor::trainer {

namespace {

absl::StatusOr<at::Tensor> Find(const OptimizerState& state, const std::string& name,
                                const at::Tensor& like) {
  const auto found = std::ranges::find(state.tensors, name, &NamedTensor::name);
  if (found == state.tensors.end()) return InvalidInput(name + ": missing");
  if (found->value.sizes() != like.sizes() || found->value.dtype() != like.dtype()) {
    return InvalidInput(name + ": of another shape or type than the parameter's");
  }
  return found->value;
}

}  // namespace

absl::Status CheckState(const OptimizerState& state, const OptimizerState& live) {
  for (const auto& [name, value] : live.counters) {
    if (!state.counters.contains(name)) return InvalidInput(name + ": missing");
  }
  for (const NamedTensor& tensor : live.tensors) {
    NF_RETURN_IF_ERROR(Find(state, tensor.name, tensor.value).status());
  }
  if (state.counters.size() == live.counters.size() &&
      state.tensors.size() == live.tensors.size()) {
    return absl::OkStatus();
  }
  return InvalidInput("it has more than these settings keep");
}

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
    at::Tensor live = tensors[i];
    NF_ASSIGN_OR_RETURN(const at::Tensor values,
                        Find(state, prefix + "/" + std::to_string(i), live));
    live.copy_(values);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> TakeCounter(const OptimizerState& state, const std::string& name) {
  const auto found = state.counters.find(name);
  if (found == state.counters.end()) return InvalidInput(name + ": missing");
  return found->second;
}

}  // namespace noisefloor::trainer
