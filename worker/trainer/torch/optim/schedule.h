// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>
#include <vector>

#include "common/trainer_protocol/specification.h"

namespace noisefloor::trainer {

struct StepCounts {
  int64_t per_epoch = 1;
  int64_t total = 1;
};

// The rate of each step (from 0), in doubles by +, -, *, / in a written order and an own cosine:
// the C library's functions differ in bits between processors. With s the step, e = s / per_epoch
// (whole), w the warm-up's steps, S all steps, x = (s - w) / (S - w):
//   warm-up      (s + 1) / w of the base rate while s < w; then
//   constant     the base rate
//   step         times factor for each milestone epoch that has been reached
//   cosine       times (1 + cos(pi x)) / 2
//   staircase    times factor^(e / every_epochs, whole): Keras' ExponentialDecay, staircase=True
//   polynomial   times end + (1 - end) (1 - x)^power: Keras' PolynomialDecay
//   triangular   with p = peak S, rounded down: times start + (1 - start) s / p while s < p, then
//                1 + (end - 1) (s - p) / (S - p): airbench94's
//   list         times the number of `factors` that belongs to the milestones reached
// Immutable; any thread.
class Schedule {
 public:
  // `train` as CheckTogether wants it. Copied.
  Schedule(const TrainSettings& train, const StepCounts& counts);

  double RateAt(int64_t step) const;

 private:
  double Share(int64_t step) const;  // Of the base rate, after the warm-up.

  const double base_;
  const ScheduleSettings settings_;
  const StepCounts counts_;
  const int64_t warmup_steps_;
  const std::vector<double> factors_;
};

// Schedule(train, counts).RateAt(step).
double LearningRate(const TrainSettings& train, const StepCounts& counts, int64_t step);

}  // namespace noisefloor::trainer
