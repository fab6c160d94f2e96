// Steps and learning rates as papers and README write them.
#pragma once

#include <cstdint>

#include "common/trainer_protocol/specification.h"
#include "tests/worker/trainer/twin/array.h"

namespace noisefloor::trainer::twin {

class Optimizer {
 public:
  explicit Optimizer(const OptimizerSettings& settings) : settings_(settings) {}
  void Step(double learning_rate, State& state);

 private:
  const OptimizerSettings settings_;
  int64_t steps_ = 0;
  Arrays first_, second_;  // Moments, or the first alone: momentum.
};

// Of step `step`, from 0, of `per_epoch` * epochs.
double LearningRate(const TrainSettings& train, int64_t per_epoch, int64_t step);

}  // namespace noisefloor::trainer::twin
