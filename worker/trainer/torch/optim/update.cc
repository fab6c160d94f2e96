#include "worker/trainer/torch/optim/update.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <limits>
#include <utility>

#include "common/base/check.h"

namespace noisefloor::trainer {

namespace {

constexpr const char* kScaleExponent = "scale_exponent";

}  // namespace

double LossScale::scale() const {
  return std::ldexp(settings_.initial, static_cast<int>(exponent_));
}

void LossScale::After(bool finite) {
  if (!finite) {
    --exponent_;
    ++skipped_;
    in_a_row_ = 0;
    return;
  }
  if (++in_a_row_ < settings_.growth_interval) return;
  in_a_row_ = 0;
  if (2.0 * scale() <= std::numeric_limits<float>::max()) ++exponent_;
}

void LossScale::Export(OptimizerState& state) const {
  state.counters[kScaleExponent] = exponent_;
  state.counters["scale_steps"] = in_a_row_;
  state.counters["skipped"] = skipped_;
}

absl::Status LossScale::Import(const OptimizerState& state) {
  NF_ASSIGN_OR_RETURN(exponent_, TakeCounter(state, kScaleExponent));
  NF_ASSIGN_OR_RETURN(in_a_row_, TakeCounter(state, "scale_steps"));
  NF_ASSIGN_OR_RETURN(skipped_, TakeCounter(state, "skipped"));
  return absl::OkStatus();
}

bool Unscale(const std::vector<at::Tensor>& gradients, double scale) {
  const at::NoGradGuard no_grad;
  const auto options = at::TensorOptions(at::kFloat).device(gradients.front().device());
  at::Tensor not_finite = at::zeros({1}, options);
  const at::Tensor reciprocal = at::full({1}, static_cast<float>(1.0 / scale), options);
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, not_finite, reciprocal);
  return not_finite.item<float>() == 0;
}

void ClipNorm(const std::vector<at::Tensor>& gradients, double most) {
  const at::NoGradGuard no_grad;
  const at::Tensor norm = at::linalg_vector_norm(at::stack(at::_foreach_norm(gradients, 2)), 2);
  const at::Tensor factor = norm.add(1e-6).reciprocal().mul(most).clamp_max(1.0);
  at::_foreach_mul_(gradients, factor);
}

WeightAverage::WeightAverage(double decay, std::vector<at::Tensor> weights,
                             std::vector<at::Tensor> averages)
    : decay_(decay), weights_(std::move(weights)), averages_(std::move(averages)) {
  NF_CHECK(weights_.size() == averages_.size());
}

void WeightAverage::After() {
  const at::NoGradGuard no_grad;
  if (averaged_++ > 0) {
    at::_foreach_lerp_(averages_, weights_, 1.0 - decay_);
    return;
  }
  at::_foreach_copy_(averages_, weights_);
}

void WeightAverage::Export(OptimizerState& state) const {
  AddTensors("average", averages_, state);
  state.counters["averaged"] = averaged_;
}

absl::Status WeightAverage::Import(const OptimizerState& state) {
  NF_RETURN_IF_ERROR(TakeTensors(state, "average", averages_));
  NF_ASSIGN_OR_RETURN(averaged_, TakeCounter(state, "averaged"));
  return absl::OkStatus();
}

Update::Update(const TrainSettings& settings, const std::vector<at::Tensor>& parameters,
               std::vector<at::Tensor> averages, const std::vector<double>& rates)
    : clip_norm_(settings.clip_norm), optimizer_(settings.optimizer, parameters, rates) {
  if (settings.precision == "fp16") loss_scale_.emplace(settings.loss_scale);
  if (settings.average_decay > 0) {
    average_.emplace(settings.average_decay, parameters, std::move(averages));
  }
}

void Update::Step(const std::vector<at::Tensor>& gradients, double learning_rate) {
  if (loss_scale_) {
    const bool finite = Unscale(gradients, loss_scale_->scale());
    loss_scale_->After(finite);
    if (!finite) return;
  }
  if (clip_norm_ > 0) ClipNorm(gradients, clip_norm_);
  optimizer_.Step(gradients, learning_rate);
  if (average_) average_->After();
}

OptimizerState Update::Export() const {
  OptimizerState state;
  optimizer_.Export(state);
  if (loss_scale_) loss_scale_->Export(state);
  if (average_) average_->Export(state);
  return state;
}

absl::Status Update::Check(const OptimizerState& state) const {
  NF_RETURN_IF_ERROR(CheckState(state, Export()));
  for (const auto& [name, value] : state.counters) {
    if (value < 0 && name != kScaleExponent) return InvalidInput(name + ": below 0");
  }
  return absl::OkStatus();
}

absl::Status Update::Import(const OptimizerState& state) {
  NF_RETURN_IF_ERROR(Check(state));
  NF_RETURN_IF_ERROR(optimizer_.Import(state));
  if (loss_scale_) NF_RETURN_IF_ERROR(loss_scale_->Import(state));
  if (average_) NF_RETURN_IF_ERROR(average_->Import(state));
  return absl::OkStatus();
}

}  // namespace noisefloor::trainer
