// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include "common/trainer_protocol/specification.h"

namespace noisefloor::trainer {

struct StepCounts {
  int64_t per_epoch = 1;
  int64_t total = 1;
};

// The rate of step `step` (from 0). Warm-up: (step + 1) / warm-up steps of the base rate. `step`:
// the base rate times factor for each milestone epoch that has been reached. `cosine`: from the
// base rate to 0 over the steps after the warm-up. Own cosine: the C library's differs in bits
// between processors.
double LearningRate(const TrainSettings& train, const StepCounts& counts, int64_t step);

}  // namespace noisefloor::trainer
