#include "common/trainer_protocol/check_arithmetic.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/check.h"
#include "common/trainer_protocol/factors.h"
#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor {

namespace {

using Problems = std::vector<FieldProblem>;

// A setting that only some optimisers, schedules or precisions read. Elsewhere it must be left at
// its default: trainings that differ in it alone would be equal.
struct SettingOfSome {
  std::string_view path;
  std::string_view what;
  std::array<std::string_view, 2> readers;
};
constexpr std::array<SettingOfSome, 3> kOfOptimizers = {{
    {"train.optimizer.beta1", "mean gradient", {"adam", "adamw"}},
    {"train.optimizer.beta2", "mean square", {"adam", "adamw"}},
    {"train.optimizer.epsilon", "denominator", {"adam", "adamw"}},
}};
constexpr std::array<SettingOfSome, 6> kOfSchedules = {{
    {"train.schedule.factor", "factor", {"step", "staircase"}},
    {"train.schedule.every_epochs", "interval", {"staircase"}},
    {"train.schedule.power", "power", {"polynomial"}},
    {"train.schedule.start", "share to start from", {"triangular"}},
    {"train.schedule.peak", "peak", {"triangular"}},
    {"train.schedule.end", "share to end at", {"triangular", "polynomial"}},
}};
constexpr std::array<SettingOfSome, 2> kOfPrecisions = {{
    {"train.loss_scale.initial", "loss scale", {"fp16"}},
    {"train.loss_scale.growth_interval", "loss scale", {"fp16"}},
}};

// Says that `path` is not at its default, which `who` does not read.
void RefuseUnlessDefault(const Specification& s, std::string_view path, const std::string& why,
                         Problems& problems) {
  static const Specification defaults;
  const Field* field = FindField(path);
  NF_CHECK(field != nullptr);
  const SettingValue expected = field->get(defaults);
  if (field->get(s) == expected) return;
  problems.push_back({std::string(path), why + "; expected " + ToText(expected) + ", the default"});
}

template <size_t kCount>
void CheckReaders(const Specification& s, const std::array<SettingOfSome, kCount>& settings,
                  const std::string& who, Problems& problems) {
  for (const SettingOfSome& setting : settings) {
    if (std::ranges::find(setting.readers, who) != setting.readers.end()) continue;
    RefuseUnlessDefault(s, setting.path, who + " has no " + std::string(setting.what), problems);
  }
}

void CheckOptimizer(const Specification& s, Problems& problems) {
  const OptimizerSettings& optimizer = s.train.optimizer;
  const bool sgd = optimizer.name == "sgd";
  if (!sgd && (optimizer.momentum != 0 || optimizer.nesterov)) {
    problems.push_back(
        {"train.optimizer.momentum", optimizer.name + " has no momentum setting; use beta1"});
  }
  if (optimizer.nesterov && optimizer.momentum == 0) {
    problems.push_back({"train.optimizer.nesterov", "needs train.optimizer.momentum above 0"});
  }
  if (sgd && optimizer.momentum == 0) {
    RefuseUnlessDefault(s, "train.optimizer.formula", "sgd without momentum has one formula",
                        problems);
  }
  if (optimizer.weight_decay == 0) {
    RefuseUnlessDefault(s, "train.optimizer.decayed", "train.optimizer.weight_decay is 0",
                        problems);
  }
  CheckReaders(s, kOfOptimizers, optimizer.name, problems);
}

void CheckFactors(const ScheduleSettings& schedule, Problems& problems) {
  const auto factors = ReadFactors(schedule.factors);
  if (!factors.ok()) {
    problems.push_back({"train.schedule.factors", Message(factors.status())});
    return;
  }
  const size_t expected = schedule.milestones.size() + 1;
  if (factors->size() == expected) return;
  problems.push_back({"train.schedule.factors", std::to_string(factors->size()) +
                                                    " given; expected " + std::to_string(expected) +
                                                    ": one from the start and one from each of " +
                                                    "train.schedule.milestones"});
}

void CheckSchedule(const Specification& s, Problems& problems) {
  const ScheduleSettings& schedule = s.train.schedule;
  if (schedule.name == "step" && schedule.milestones.empty()) {
    problems.push_back({"train.schedule.milestones", "schedule step needs at least one milestone"});
  }
  if (schedule.name != "step" && schedule.name != "list" && !schedule.milestones.empty()) {
    problems.push_back({"train.schedule.milestones",
                        "only the schedules step and list have milestones, not " + schedule.name});
  }
  if (!std::ranges::is_sorted(schedule.milestones, std::less_equal<>())) {
    problems.push_back({"train.schedule.milestones", "expected rising epochs"});
  }
  if (schedule.name == "list") {
    CheckFactors(schedule, problems);
  } else if (!schedule.factors.empty()) {
    problems.push_back(
        {"train.schedule.factors", "only schedule list has factors, not " + schedule.name});
  }
  if (schedule.name == "triangular") {
    RefuseUnlessDefault(s, "train.schedule.warmup_epochs", "triangular has a rise of its own",
                        problems);
  }
  CheckReaders(s, kOfSchedules, schedule.name, problems);
}

void CheckPrecision(const Specification& s, Problems& problems) {
  if (s.train.precision == "tf32" && IsCpuClass(s.hardware_class)) {
    problems.push_back({"train.precision", "tf32 is an arithmetic of GPUs, " + s.hardware_class +
                                               " has none; expected fp32, bf16, fp16 or fp64"});
  }
  CheckReaders(s, kOfPrecisions, s.train.precision, problems);
}

}  // namespace

void CheckArithmetic(const Specification& specification, Problems& problems) {
  CheckOptimizer(specification, problems);
  // A measurement reads no schedule: check_measure.cc.
  if (specification.measure.steps == 0) CheckSchedule(specification, problems);
  CheckPrecision(specification, problems);
}

}  // namespace noisefloor
