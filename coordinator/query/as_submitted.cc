#include "coordinator/query/as_submitted.h"

#include <string>

#include "coordinator/query/rows.h"

namespace noisefloor::query {

namespace {

sweep::PlanRequest AsSubmitted(const sweep::NoisePlan& plan) {
  sweep::PlanRequest out = {.name = plan.name,
                            .base = "",
                            .rules = {},
                            .replicates = plan.replicates,
                            .blocks = plan.blocks};
  const LaneRules* built_in = sweep::BuiltInPlan(plan.name);
  if (built_in != nullptr && *built_in == plan.rules) return out;
  out.base = "control";
  const LaneRules* control = sweep::BuiltInPlan("control");
  for (size_t i = 0; i < kAllNoiseSources.size(); ++i) {
    if (control != nullptr && (*control)[i] == plan.rules[i]) continue;
    out.rules.push_back({std::string(Name(kAllNoiseSources[i])), plan.rules[i]});
  }
  return out;
}

}  // namespace

sweep::SweepRequest AsSubmitted(const sweep::Sweep& sweep) {
  sweep::SweepRequest out;
  out.name = sweep.name;
  out.seed = sweep.seed;
  for (const Setting& setting : sweep.base) {
    if (!IsDefault(sweep, setting)) out.training.push_back(setting);
  }
  out.axes = sweep.axes;
  for (const sweep::NoisePlan& plan : sweep.plans) out.noise.push_back(AsSubmitted(plan));
  const bool any = sweep.hardware.size() == 1 && sweep.hardware.front().empty();
  out.hardware = any ? sweep::HardwareKind::kAny : sweep::HardwareKind::kList;
  if (!any) out.classes = sweep.hardware;
  for (const std::string& stack : sweep.stacks) {
    if (!stack.empty()) out.stacks.push_back(stack);
  }
  out.replicates = sweep.replicates;
  out.blocks = sweep.blocks;
  out.reference_accuracy = sweep.reference_accuracy;
  out.until = sweep.until;
  out.notes = sweep.notes;
  out.tags = sweep.tags;
  return out;
}

}  // namespace noisefloor::query
