#include "worker/trainer/torch/optim/schedule.h"

#include <cmath>

namespace noisefloor::trainer {

namespace {

// Cosine of pi * x for x in [0, 1] to a few 1e-16, by Taylor's series in a fixed order.
double CosinePi(double x) {
  if (x > 0.5) return -CosinePi(1.0 - x);
  const double angle = 3.14159265358979323846 * x;
  const double square = angle * angle;
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k <= 12; ++k) {
    term *= -square / ((2.0 * k - 1.0) * (2.0 * k));
    sum += term;
  }
  return sum;
}

double StepFactor(const ScheduleSettings& schedule, int64_t epoch) {
  double factor = 1.0;
  for (const int64_t milestone : schedule.milestones) {
    if (epoch >= milestone) factor *= schedule.factor;
  }
  return factor;
}

}  // namespace

double LearningRate(const TrainSettings& train, const StepCounts& counts, int64_t step) {
  const ScheduleSettings& schedule = train.schedule;
  const double base = train.optimizer.learning_rate;
  const auto warmup_steps = static_cast<int64_t>(
      std::llround(schedule.warmup_epochs * static_cast<double>(counts.per_epoch)));
  if (step < warmup_steps) {
    return base * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps));
  }
  if (schedule.name == "step") return base * StepFactor(schedule, step / counts.per_epoch);
  if (schedule.name == "cosine") {
    const double done = static_cast<double>(step - warmup_steps);
    const double all = static_cast<double>(counts.total - warmup_steps);
    return base * (0.5 * (1.0 + CosinePi(done / all)));
  }
  return base;
}

}  // namespace noisefloor::trainer
