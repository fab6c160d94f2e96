// SGD (momentum, Nesterov, weight decay), Adam and AdamW, by PyTorch's formulas or by Keras'.
//
// With g the gradient, w a weight, r the learning rate, t the steps from 1, b1 and b2 the betas:
//   decay        g += d w first; of adamw instead w -= r d w
//   sgd, torch   v = m v + g (v = g at first), w -= r v; Nesterov: w -= r (g + m v)
//   sgd, keras   v = m v - r g, w += v; Nesterov: w += m v - r g. The rate is inside of v, so that
//                the two differ where it changes
//   adam, torch  a = b1 a + (1 - b1) g, s = b2 s + (1 - b2) g^2,
//                w -= r (a / (1 - b1^t)) / (sqrt(s / (1 - b2^t)) + epsilon)
//   adam, keras  w -= (r sqrt(1 - b2^t) / (1 - b1^t)) a / (sqrt(s) + epsilon): what Kingma and Ba
//                (2015, end of section 2) call epsilon hat; torch's with epsilon / sqrt(1 - b2^t)
// Sources: torch.optim's and keras.optimizers' documentation and code (PyTorch 2.11, Keras 3).
// torch's are LibTorch's fused kernels: one call a step.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "common/trainer_protocol/specification.h"
#include "worker/trainer/torch/optim/state.h"

namespace noisefloor::trainer {

// Owns the state (momentum or moments). Not thread-safe.
class Optimizer {
 public:
  // `rates`: what the learning rate of each parameter is multiplied by; empty: 1 of all.
  Optimizer(const OptimizerSettings& settings, std::vector<at::Tensor> parameters,
            const std::vector<double>& rates = {});

  // Moves the parameters by one step. Gradients are in the parameters' order, type and memory
  // layout.
  void Step(const std::vector<at::Tensor>& gradients, double learning_rate);

  // "first", "second" and the counter "steps"; see state.h.
  void Export(OptimizerState& state) const;
  absl::Status Import(const OptimizerState& state);

 private:
  using Tensors = std::vector<at::Tensor>;
  // Parameters with one weight decay and rate. Handles: the state is the members' below.
  struct Group {
    double weight_decay = 0;
    double rate = 1;  // Times the learning rate.
    std::vector<size_t> members;
    Tensors parameters, first, second, counts;
  };
  void Add(double weight_decay, double rate, std::vector<size_t> members);

  void StepSgd(const Group& group, const Tensors& gradients, double learning_rate);
  void StepAdam(const Group& group, const Tensors& gradients, double learning_rate);
  void StepSgdOfKeras(const Group& group, const Tensors& gradients, double learning_rate);
  void StepAdamOfKeras(const Group& group, const Tensors& gradients, double learning_rate);

  const OptimizerSettings settings_;
  const Tensors parameters_;
  int64_t steps_done_ = 0;
  Tensors first_moments_;   // Adam's a, or SGD's momentum; empty without.
  Tensors second_moments_;  // Adam's s.
  Tensors step_counts_;     // Adam's, one a parameter, as its kernel wants them.
  std::vector<Group> groups_;
};

}  // namespace noisefloor::trainer
