// All that moves the weights at a step, and what of it is remembered: the loss scale, clipping, the
// optimiser, and the moving average of the weights.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/torch/optim/optimizer.h"
#include "worker/trainer/torch/optim/state.h"

namespace noisefloor::trainer {

// What the loss of a fp16 step is multiplied by, after PyTorch's GradScaler: initial * 2^k. k falls
// by one after a step with a gradient that is not finite, which moves nothing; it rises by one
// after `growth_interval` steps in a row without, unless the scale would pass the largest float.
// Whole numbers only, so that it is exact and the same everywhere.
class LossScale {
 public:
  explicit LossScale(const LossScaleSettings& settings) : settings_(settings) {}

  double scale() const;
  void After(bool finite);
  int64_t skipped() const { return skipped_; }

  void Export(OptimizerState& state) const;  // "scale_exponent", "scale_steps", "skipped"
  absl::Status Import(const OptimizerState& state);

 private:
  const LossScaleSettings settings_;
  int64_t exponent_ = 0;  // k
  int64_t in_a_row_ = 0;
  int64_t skipped_ = 0;
};

// Divides gradients by the scale, as PyTorch does: times the scale's reciprocal as a float. False
// when an element is not finite; then they are of no use. Waits for the device.
bool Unscale(const std::vector<at::Tensor>& gradients, double scale);

// Shortens the gradient to `most`, over all tensors: times min(1, (1 / (norm + 1e-6)) most), where
// norm is the Euclidean norm of the tensors' norms in their order (torch.nn.utils.clip_grad_norm_).
void ClipNorm(const std::vector<at::Tensor>& gradients, double most);

// a += (1 - decay) (w - a) after each step; after the first, a = w (torch.optim.swa_utils).
class WeightAverage {
 public:
  // Moves `averages`, which hold the initial weights, after `weights`.
  WeightAverage(double decay, std::vector<at::Tensor> weights, std::vector<at::Tensor> averages);

  void After();

  void Export(OptimizerState& state) const;  // "average", the counter "averaged"
  absl::Status Import(const OptimizerState& state);

 private:
  const double decay_;
  const std::vector<at::Tensor> weights_, averages_;
  int64_t averaged_ = 0;
};

// Not thread-safe.
class Update {
 public:
  // `averages`: where the moving average goes, in the parameters' order; empty when the settings
  // ask for none. `rates`: as the optimiser's.
  Update(const TrainSettings& settings, const std::vector<at::Tensor>& parameters,
         std::vector<at::Tensor> averages, const std::vector<double>& rates = {});

  // What the loss of the next step is multiplied by; 1 but with fp16.
  double loss_scale() const { return loss_scale_ ? loss_scale_->scale() : 1.0; }
  // Steps that a gradient which is not finite made of no effect.
  int64_t skipped() const { return loss_scale_ ? loss_scale_->skipped() : 0; }

  // One step by the gradients of a loss that was multiplied by loss_scale(). Changes gradients.
  void Step(const std::vector<at::Tensor>& gradients, double learning_rate);

  // Everything that the next steps depend on besides weights and buffers.
  OptimizerState Export() const;
  // InvalidArgument, naming what differs, unless `state` can be one of these settings and
  // parameters.
  absl::Status Check(const OptimizerState& state) const;
  // All of it, or nothing where Check refuses.
  absl::Status Import(const OptimizerState& state);

 private:
  const double clip_norm_;
  std::optional<LossScale> loss_scale_;
  Optimizer optimizer_;
  std::optional<WeightAverage> average_;
};

}  // namespace noisefloor::trainer
