#include "worker/trainer/torch/optim/schedule.h"

#include <algorithm>
#include <cmath>

#include "common/trainer_protocol/factors.h"

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

// 1 * base * base * ..., from the left.
double Power(double base, int64_t exponent) {
  double power = 1.0;
  for (int64_t i = 0; i < exponent && power != 0; ++i) power *= base;
  return power;
}

int64_t Reached(const std::vector<int64_t>& milestones, int64_t epoch) {
  return std::ranges::count_if(milestones, [&](int64_t milestone) { return epoch >= milestone; });
}

double Triangle(const ScheduleSettings& settings, int64_t total, int64_t step) {
  const auto peak = static_cast<int64_t>(settings.peak * static_cast<double>(total));
  if (step < peak) {
    return settings.start +
           (1.0 - settings.start) * (static_cast<double>(step) / static_cast<double>(peak));
  }
  return 1.0 + (settings.end - 1.0) *
                   (static_cast<double>(step - peak) / static_cast<double>(total - peak));
}

}  // namespace

Schedule::Schedule(const TrainSettings& train, const StepCounts& counts)
    : base_(train.optimizer.learning_rate),
      settings_(train.schedule),
      counts_(counts),
      warmup_steps_(static_cast<int64_t>(
          std::llround(settings_.warmup_epochs * static_cast<double>(counts.per_epoch)))),
      factors_(ReadFactors(settings_.factors).value()) {}

double Schedule::RateAt(int64_t step) const {
  if (step < warmup_steps_) {
    return base_ * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps_));
  }
  return settings_.name == "constant" ? base_ : base_ * Share(step);
}

double Schedule::Share(int64_t step) const {
  const int64_t epoch = step / counts_.per_epoch;
  const double done = static_cast<double>(step - warmup_steps_);
  const double all = static_cast<double>(counts_.total - warmup_steps_);
  const std::string& name = settings_.name;
  if (name == "step") return Power(settings_.factor, Reached(settings_.milestones, epoch));
  if (name == "staircase") return Power(settings_.factor, epoch / settings_.every_epochs);
  if (name == "cosine") return 0.5 * (1.0 + CosinePi(done / all));
  if (name == "polynomial") {
    return settings_.end + (1.0 - settings_.end) * Power(1.0 - done / all, settings_.power);
  }
  if (name == "triangular") return Triangle(settings_, counts_.total, step);
  return factors_[static_cast<size_t>(Reached(settings_.milestones, epoch))];
}

double LearningRate(const TrainSettings& train, const StepCounts& counts, int64_t step) {
  return Schedule(train, counts).RateAt(step);
}

}  // namespace noisefloor::trainer
