#include "worker/trainer/torch/optim/optimizer.h"

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

std::vector<at::Tensor> ZerosLike(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> zeros;
  for (const at::Tensor& tensor : tensors) zeros.push_back(at::zeros_like(tensor.detach()));
  return zeros;
}

// Where a dimension has one element, its stride says nothing; libraries fill it in as they like.
bool SameLayout(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  for (int64_t dim = 0; dim < a.dim(); ++dim) {
    if (a.size(dim) > 1 && a.stride(dim) != b.stride(dim)) return false;
  }
  return true;
}

constexpr const char* kStepsDone = "steps_done";

void AddNumbered(const std::string& name, const std::vector<at::Tensor>& tensors,
                 std::vector<NamedTensor>& all) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    all.push_back({name + "/" + std::to_string(i), tensors[i]});
  }
}

}  // namespace

Optimizer::Optimizer(const OptimizerSettings& settings, std::vector<at::Tensor> parameters)
    : settings_(settings), parameters_(std::move(parameters)) {
  const bool adam = settings_.name == "adam";
  if (adam || settings_.momentum != 0) first_moments_ = ZerosLike(parameters_);
  if (!adam) return;
  second_moments_ = ZerosLike(parameters_);
  for (const at::Tensor& parameter : parameters_) {
    step_counts_.push_back(at::zeros({}, at::TensorOptions(at::kFloat).device(parameter.device())));
  }
}

void Optimizer::Step(const std::vector<at::Tensor>& gradients, double learning_rate) {
  NF_CHECK(gradients.size() == parameters_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    // The fused kernels walk raw memory: another layout would silently mix up elements.
    NF_CHECK(SameLayout(gradients[i], parameters_[i]));
  }
  const at::NoGradGuard no_grad;
  if (settings_.name == "adam") {
    StepAdam(gradients, learning_rate);
  } else {
    StepSgd(gradients, learning_rate);
  }
  ++steps_done_;
}

std::vector<NamedTensor> Optimizer::StateTensors() const {
  std::vector<NamedTensor> all;
  AddNumbered("first_moment", first_moments_, all);
  AddNumbered("second_moment", second_moments_, all);
  AddNumbered("step_count", step_counts_, all);
  return all;
}

std::map<std::string, int64_t> Optimizer::Counters() const { return {{kStepsDone, steps_done_}}; }

absl::Status Optimizer::SetCounters(const std::map<std::string, int64_t>& counters) {
  const auto it = counters.find(kStepsDone);
  if (counters.size() != 1 || it == counters.end() || it->second < 0) {
    return InvalidInput("optimizer: expected the one counter 'steps_done', from 0");
  }
  steps_done_ = it->second;
  return absl::OkStatus();
}

void Optimizer::StepSgd(const std::vector<at::Tensor>& gradients, double learning_rate) {
  at::_fused_sgd_(parameters_, gradients, first_moments_, settings_.weight_decay,
                  settings_.momentum, learning_rate, /*dampening=*/0.0, settings_.nesterov,
                  /*maximize=*/false, /*is_first_step=*/steps_done_ == 0);
}

void Optimizer::StepAdam(const std::vector<at::Tensor>& gradients, double learning_rate) {
  for (at::Tensor& count : step_counts_) count.add_(1.0);
  at::_fused_adam_(parameters_, gradients, first_moments_, second_moments_, {}, step_counts_,
                   learning_rate, settings_.beta1, settings_.beta2, settings_.weight_decay,
                   settings_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace noisefloor::trainer
