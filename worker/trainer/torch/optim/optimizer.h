// SGD (momentum, Nesterov, weight decay) and Adam by LibTorch's fused kernels: one call a step.
// Adam follows PyTorch's formula: epsilon is added after the bias correction of the root.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"
#include "worker/trainer/torch/model/model.h"

namespace noisefloor::trainer {

// Owns the state (momentum or moments). Not thread-safe.
class Optimizer {
 public:
  Optimizer(const OptimizerSettings& settings, std::vector<at::Tensor> parameters);

  // Moves the parameters by one step. Gradients are in the parameters' order and memory layout.
  void Step(const std::vector<at::Tensor>& gradients, double learning_rate);

  // All that Step reads and moves besides the parameters, for checkpoints. The tensors share their
  // storage with this: who writes into them, of an optimiser just made, and sets the counters gets
  // the steps of the one they were read from. Names ("first_moment/0") and counters depend on the
  // settings and the parameters alone.
  std::vector<NamedTensor> StateTensors() const;
  std::map<std::string, int64_t> Counters() const;
  // InvalidArgument unless these are the names of Counters(), and no value is negative.
  absl::Status SetCounters(const std::map<std::string, int64_t>& counters);

 private:
  void StepSgd(const std::vector<at::Tensor>& gradients, double learning_rate);
  void StepAdam(const std::vector<at::Tensor>& gradients, double learning_rate);

  const OptimizerSettings settings_;
  const std::vector<at::Tensor> parameters_;
  int64_t steps_done_ = 0;
  std::vector<at::Tensor> first_moments_;   // Adam's m, or SGD's momentum; empty without.
  std::vector<at::Tensor> second_moments_;  // Adam's v.
  std::vector<at::Tensor> step_counts_;     // Adam's, one a parameter, as its kernel wants them.
};

}  // namespace noisefloor::trainer
