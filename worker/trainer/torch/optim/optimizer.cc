#include "worker/trainer/torch/optim/optimizer.h"

#include <cmath>
#include <map>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

using Tensors = std::vector<at::Tensor>;

Tensors ZerosLike(const Tensors& tensors) {
  Tensors zeros;
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

// Of `all`, empty where there are none.
Tensors Pick(const Tensors& all, const std::vector<size_t>& members) {
  Tensors picked;
  for (const size_t i : members) {
    if (!all.empty()) picked.push_back(all[i]);
  }
  return picked;
}

// base^exponent by squaring: the C library's pow differs in bits between processors.
double Power(double base, int64_t exponent) {
  double power = 1.0;
  for (; exponent > 0; exponent /= 2, base *= base) {
    if (exponent % 2 == 1) power *= base;
  }
  return power;
}

}  // namespace

Optimizer::Optimizer(const OptimizerSettings& settings, Tensors parameters,
                     const std::vector<double>& rates)
    : settings_(settings), parameters_(std::move(parameters)) {
  const bool adam = settings_.name != "sgd";
  if (adam || settings_.momentum != 0) first_moments_ = ZerosLike(parameters_);
  if (adam) second_moments_ = ZerosLike(parameters_);
  for (size_t i = 0; adam && i < parameters_.size(); ++i) {
    step_counts_.push_back(
        at::zeros({}, at::TensorOptions(at::kFloat).device(parameters_[i].device())));
  }
  NF_CHECK(rates.empty() || rates.size() == parameters_.size());
  std::map<std::pair<double, double>, std::vector<size_t>> members;  // By decay and rate.
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const bool decays = settings_.decayed == "all" || parameters_[i].dim() > 1;
    const double rate = rates.empty() ? 1.0 : rates[i];
    members[{decays ? settings_.weight_decay : 0.0, rate}].push_back(i);
  }
  for (auto& [group, places] : members) Add(group.first, group.second, std::move(places));
}

void Optimizer::Add(double weight_decay, double rate, std::vector<size_t> members) {
  groups_.push_back({.weight_decay = weight_decay,
                     .rate = rate,
                     .parameters = Pick(parameters_, members),
                     .first = Pick(first_moments_, members),
                     .second = Pick(second_moments_, members),
                     .counts = Pick(step_counts_, members)});
  groups_.back().members = std::move(members);
}

void Optimizer::Step(const Tensors& gradients, double learning_rate) {
  NF_CHECK(gradients.size() == parameters_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    // The fused kernels walk raw memory: another layout would silently mix up elements.
    NF_CHECK(SameLayout(gradients[i], parameters_[i]));
  }
  const at::NoGradGuard no_grad;
  const bool sgd = settings_.name == "sgd";
  const bool keras = settings_.formula == "keras";
  for (const Group& group : groups_) {
    const Tensors own = Pick(gradients, group.members);
    const double rate = learning_rate * group.rate;
    if (sgd) {
      keras ? StepSgdOfKeras(group, own, rate) : StepSgd(group, own, rate);
    } else {
      keras ? StepAdamOfKeras(group, own, rate) : StepAdam(group, own, rate);
    }
  }
  ++steps_done_;
}

void Optimizer::StepSgd(const Group& group, const Tensors& gradients, double learning_rate) {
  at::_fused_sgd_(group.parameters, gradients, group.first, group.weight_decay, settings_.momentum,
                  learning_rate, /*dampening=*/0.0, settings_.nesterov,
                  /*maximize=*/false, /*is_first_step=*/steps_done_ == 0);
}

void Optimizer::StepAdam(const Group& group, const Tensors& gradients, double learning_rate) {
  for (at::Tensor count : group.counts) count.add_(1.0);
  if (settings_.name == "adamw") {
    at::_fused_adamw_(group.parameters, gradients, group.first, group.second, {}, group.counts,
                      learning_rate, settings_.beta1, settings_.beta2, group.weight_decay,
                      settings_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
    return;
  }
  at::_fused_adam_(group.parameters, gradients, group.first, group.second, {}, group.counts,
                   learning_rate, settings_.beta1, settings_.beta2, group.weight_decay,
                   settings_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

void Optimizer::StepSgdOfKeras(const Group& group, const Tensors& given, double learning_rate) {
  const Tensors gradients = group.weight_decay == 0
                                ? given
                                : at::_foreach_add(given, group.parameters, group.weight_decay);
  at::_foreach_mul_(group.first, settings_.momentum);
  at::_foreach_add_(group.first, gradients, -learning_rate);
  if (settings_.nesterov) {
    at::_foreach_add_(group.parameters, group.first, settings_.momentum);
    at::_foreach_add_(group.parameters, gradients, -learning_rate);
  } else {
    at::_foreach_add_(group.parameters, group.first);
  }
}

void Optimizer::StepAdamOfKeras(const Group& group, const Tensors& given, double learning_rate) {
  Tensors gradients = given;
  if (group.weight_decay != 0 && settings_.name == "adamw") {
    at::_foreach_mul_(group.parameters, 1.0 - learning_rate * group.weight_decay);
  } else if (group.weight_decay != 0) {
    gradients = at::_foreach_add(given, group.parameters, group.weight_decay);
  }
  const int64_t step = steps_done_ + 1;
  const double rate = learning_rate * std::sqrt(1.0 - Power(settings_.beta2, step)) /
                      (1.0 - Power(settings_.beta1, step));
  at::_foreach_mul_(group.first, settings_.beta1);
  at::_foreach_add_(group.first, gradients, 1.0 - settings_.beta1);
  at::_foreach_mul_(group.second, settings_.beta2);
  at::_foreach_addcmul_(group.second, gradients, gradients, 1.0 - settings_.beta2);
  Tensors roots = at::_foreach_sqrt(group.second);
  at::_foreach_add_(roots, settings_.epsilon);
  at::_foreach_addcdiv_(group.parameters, group.first, roots, -rate);
}

void Optimizer::Export(OptimizerState& state) const {
  AddTensors("first", first_moments_, state);
  AddTensors("second", second_moments_, state);
  state.counters["steps"] = steps_done_;
}

absl::Status Optimizer::Import(const OptimizerState& state) {
  NF_RETURN_IF_ERROR(TakeTensors(state, "first", first_moments_));
  NF_RETURN_IF_ERROR(TakeTensors(state, "second", second_moments_));
  NF_ASSIGN_OR_RETURN(steps_done_, TakeCounter(state, "steps"));
  for (at::Tensor& count : step_counts_) count.fill_(static_cast<double>(steps_done_));
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
