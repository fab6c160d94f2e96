#include "tests/worker/trainer/twin/optimizer.h"

#include <cmath>
#include <numbers>

namespace noisefloor::trainer::twin {

void Optimizer::Step(double learning_rate, State& state) {
  ++steps_;
  const bool adam = settings_.name == "adam";
  for (auto& [name, weight] : state.parameters) {
    std::vector<double>& first = first_.try_emplace(name, weight.shape).first->second.values;
    std::vector<double>& second = second_.try_emplace(name, weight.shape).first->second.values;
    for (size_t i = 0; i < first.size(); ++i) {
      double& w = weight.values[i];
      const double g = state.gradients.at(name).values[i] + settings_.weight_decay * w;
      if (adam) {  // Kingma and Ba (2015), algorithm 1.
        first[i] = settings_.beta1 * first[i] + (1 - settings_.beta1) * g;
        second[i] = settings_.beta2 * second[i] + (1 - settings_.beta2) * g * g;
        const double mean = first[i] / (1 - std::pow(settings_.beta1, steps_));
        const double square = second[i] / (1 - std::pow(settings_.beta2, steps_));
        w -= learning_rate * mean / (std::sqrt(square) + settings_.epsilon);
      } else {  // v = m v + g; Nesterov looks one momentum ahead: g + m v.
        first[i] = settings_.momentum * first[i] + g;
        w -= learning_rate * (settings_.nesterov ? g + settings_.momentum * first[i] : first[i]);
      }
    }
  }
}

double LearningRate(const TrainSettings& train, int64_t per_epoch, int64_t step) {
  const ScheduleSettings& schedule = train.schedule;
  const double base = train.optimizer.learning_rate;
  const double warmup = std::round(schedule.warmup_epochs * static_cast<double>(per_epoch));
  const auto now = static_cast<double>(step);
  if (now < warmup) return base * (now + 1) / warmup;
  if (schedule.name == "step") {
    double rate = base;
    for (const int64_t milestone : schedule.milestones) {
      if (step >= milestone * per_epoch) rate *= schedule.factor;
    }
    return rate;
  }
  if (schedule.name == "cosine") {
    const auto total = static_cast<double>(per_epoch * train.epochs);
    return base * (1 + std::cos(std::numbers::pi * (now - warmup) / (total - warmup))) / 2;
  }
  return base;
}

}  // namespace noisefloor::trainer::twin
