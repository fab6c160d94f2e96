// What a sweep would do, as a message.
#include "common/rpc/settings.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

v1::PlannedCell ToProto(const query::PlannedCell& planned) {
  const sweep::Cell& cell = planned.cell;
  v1::PlannedCell message;
  message.set_cell(cell.index);
  for (const sweep::Setting& setting : cell.axes)
    *message.add_axes() = noisefloor::ToProto(setting);
  message.set_plan(cell.plan);
  message.set_hardware(cell.hardware);
  message.set_stack(cell.stack);
  message.set_block(cell.block);
  message.set_replicates(cell.replicates);
  message.mutable_workers()->Assign(planned.workers.begin(), planned.workers.end());
  return message;
}

v1::PlannedPlan ToProto(const query::PlannedPlan& plan) {
  v1::PlannedPlan message;
  message.set_name(plan.name);
  message.set_replicates(plan.replicates);
  message.set_blocks(plan.blocks);
  message.set_cells(plan.cells);
  message.set_members(plan.members);
  message.set_draws(plan.draws);
  message.set_control(plan.control);
  message.set_detectable_sd_ratio(plan.detectable_sd_ratio);
  message.set_detectable_mean_shift(plan.detectable_mean_shift);
  return message;
}

}  // namespace

v1::PlanSweepResponse ToProto(const query::Plan& plan) {
  v1::PlanSweepResponse message;
  for (const query::PlannedCell& cell : plan.cells) *message.add_cells() = ToProto(cell);
  for (const query::PlannedPlan& noise : plan.plans) *message.add_plans() = ToProto(noise);
  message.set_members(plan.members);
  message.set_steps(plan.steps);
  message.set_expected_seconds(plan.expected_seconds);
  message.set_expected_from(plan.expected_from);
  message.mutable_warnings()->Assign(plan.warnings.begin(), plan.warnings.end());
  return message;
}

}  // namespace noisefloor
