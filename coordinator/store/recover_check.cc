#include "coordinator/store/recover_check.h"

#include <algorithm>

#include "common/trainer_protocol/fields.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor {

namespace {

std::string Differs(std::string_view what, std::string_view row, std::string_view definition) {
  return std::string(what) + " \"" + std::string(row) + "\", and the definition says \"" +
         std::string(definition) + "\"";
}

// Of a trainer's own settings the value's limits are not here; it took them at the start.
std::string AxisFault(const sweep::Axis& axis, const sweep::Sweep& sweep) {
  const SettingsSchemaRef known = BuiltInSchema(sweep.schema);
  if (axis.columns.empty() || axis.columns.front().values.empty()) {
    return "its definition has an axis without values";
  }
  for (const sweep::AxisColumn& column : axis.columns) {
    if (column.values.size() != axis.columns.front().values.size()) {
      return "its definition has columns of unequal length at axis " + column.path;
    }
    for (const SettingValue& value : column.values) {
      if (known == nullptr) {
        if (FindSetting(sweep.base, column.path) != nullptr) continue;
        return "its definition has an axis of no setting: " + column.path;
      }
      const auto taken = known->Take(column.path, value);
      if (!taken.ok()) return "its definition has an impossible axis: " + Message(taken.status());
    }
  }
  return "";
}

// A choice that the definition leaves open ("") is whatever the cell is pinned to.
std::string ChoiceFault(std::string_view what, const std::string& row,
                        const std::string& definition, bool pinned) {
  if (pinned && row.empty()) return std::string(what) + " \"\", though it is pinned";
  const bool open = pinned && definition.empty();
  return open || row == definition ? "" : Differs(what, row, definition);
}

}  // namespace

absl::Status Damaged(std::string_view row, std::string_view what) {
  return MakeError(absl::StatusCode::kDataLoss,
                   "the store is damaged: " + std::string(row) + ": " + std::string(what));
}

namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::count(names, name) > 0;
}

// What it was before it was extended grew from one to the next, up to what it is.
std::string ExtentFault(const sweep::Sweep& sweep) {
  std::vector<sweep::Extent> extents = sweep.before;
  extents.push_back(sweep::ExtentOf(sweep));
  if (extents.size() > sweep::kMaxCells) return "its definition was extended too often";
  for (const sweep::Extent& extent : extents) {
    if (extent.plans.size() != sweep.plans.size()) {
      return "its definition was extended with other plans";
    }
  }
  for (size_t i = 1; i < extents.size(); ++i) {
    const sweep::Extent& before = extents[i - 1];
    const sweep::Extent& after = extents[i];
    bool grew = std::ranges::all_of(
        before.hardware, [&](const std::string& name) { return Has(after.hardware, name); });
    for (size_t plan = 0; plan < before.plans.size(); ++plan) {
      grew = grew && before.plans[plan].replicates <= after.plans[plan].replicates &&
             before.plans[plan].blocks <= after.plans[plan].blocks;
    }
    if (!grew) return "its definition was larger before it was extended";
  }
  return "";
}

// Of what an inference is about: cells of plans that it has, and in each somebody.
std::string InferenceFault(const sweep::Sweep& sweep) {
  const std::vector<sweep::SubjectCell>& cells = sweep.inference->cells;
  if (cells.empty() || sweep.hardware.empty()) return "its definition has no cells";
  if (cells.size() > sweep::kMaxCells || sweep::CellCount(sweep) > sweep::kMaxCells) {
    return "its definition has too many cells";
  }
  for (const sweep::SubjectCell& cell : cells) {
    if (cell.weights.empty()) return "its definition has a cell without weights";
    const auto has_name = [&](const auto& plan) { return plan.name == cell.plan; };
    if (std::ranges::none_of(sweep.plans, has_name)) {
      return "its definition has a cell of no plan: " + cell.plan;
    }
  }
  return sweep::MemberCount(sweep) <= sweep::kMaxMembers ? ""
                                                         : "its definition has too many members";
}

}  // namespace

std::string DefinitionFault(const sweep::Sweep& sweep) {
  if (sweep.inference) return InferenceFault(sweep);
  if (std::string fault = ExtentFault(sweep); !fault.empty()) return fault;
  uint64_t cells = 1;
  for (const sweep::Axis& axis : sweep.axes) {
    if (std::string fault = AxisFault(axis, sweep); !fault.empty()) return fault;
    cells *= axis.columns.front().values.size();
    if (cells > sweep::kMaxCells) return "its definition has too many cells";
  }
  uint64_t blocks = 0;
  for (const sweep::NoisePlan& plan : sweep.plans) {
    if (sweep::BlocksOf(sweep, plan) == 0) return "its definition has no cells";
    blocks += sweep::BlocksOf(sweep, plan);
  }
  for (const uint64_t factor :
       {blocks, uint64_t{sweep.hardware.size()}, uint64_t{sweep.stacks.size()}}) {
    if (factor == 0) return "its definition has no cells";
    cells *= factor;
    if (cells > sweep::kMaxCells) return "its definition has too many cells";
  }
  const bool has_members = std::ranges::all_of(
      sweep.plans, [&](const auto& plan) { return sweep::ReplicatesOf(sweep, plan) >= 1; });
  return has_members && sweep::MemberCount(sweep) <= sweep::kMaxMembers
             ? ""
             : "its definition has no or too many members";
}

std::string CellFault(const CellRow& row, const sweep::Cell& cell) {
  const bool pinned = !row.fingerprint.empty();
  if (row.plan != cell.plan) return Differs("plan", row.plan, cell.plan);
  if (row.block != cell.block) {
    return Differs("block", std::to_string(row.block), std::to_string(cell.block));
  }
  const std::string axes = SettingsToJson(cell.axes);
  if (row.axes != axes) return Differs("axes", row.axes, axes);
  if (row.replicates != cell.replicates) {
    return Differs("replicates", std::to_string(row.replicates), std::to_string(cell.replicates));
  }
  const std::string hardware = ChoiceFault("hardware", row.hardware, cell.hardware, pinned);
  return hardware.empty() ? ChoiceFault("stack", row.stack, cell.stack, pinned) : hardware;
}

}  // namespace noisefloor
