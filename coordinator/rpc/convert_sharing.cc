// Selections of members, and what people change of sweeps and workers.
#include <cmath>
#include <set>

#include "fmt/format.h"

#include "common/base/names.h"
#include "common/rpc/kinds.h"
#include "common/rpc/settings.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

namespace {

constexpr int32_t kMaxPriority = 1000;
constexpr uint32_t kMaxWeight = 1000;
constexpr int kMaxNames = 1000;        // Of each kind in a selection.
constexpr int kMaxMembers = 100000;    // Named one by one.
constexpr size_t kMaxValue = 4096;     // Of an axis, as text.
constexpr size_t kMaxRequestId = 100;  // Bytes.

absl::Status CheckText(std::string_view field, const std::string& text, size_t most) {
  if (text.size() <= most) return absl::OkStatus();
  return InvalidInput(
      fmt::format("{}: expected at most {} bytes, got {}", field, most, text.size()));
}

absl::Status CheckEntries(std::string_view field, int count, int most) {
  if (count <= most) return absl::OkStatus();
  return InvalidInput(fmt::format("{}: expected at most {} entries, got {}", field, most, count));
}

template <typename Names>
absl::Status TakeNames(std::string_view field, const Names& names, std::set<std::string>& into) {
  NF_RETURN_IF_ERROR(CheckEntries(field, names.size(), kMaxNames));
  for (const std::string& name : names) {
    NF_RETURN_IF_ERROR(CheckText(field, name, kMaxName));
    into.insert(name);
  }
  return absl::OkStatus();
}

absl::Status TakeMembers(SweepId sweep, const v1::MemberSelection& message,
                         scheduler::Selection& selection) {
  NF_RETURN_IF_ERROR(CheckEntries("selection.members", message.members_size(), kMaxMembers));
  for (const std::string& name : message.members()) {
    NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(name));
    if (member.sweep != sweep) {
      return InvalidInput(fmt::format("selection.members: expected members of {}, got {}",
                                      ToText(sweep), ToText(member)));
    }
    selection.members.emplace(member.cell, member.replicate);
  }
  return absl::OkStatus();
}

absl::Status TakeAxes(const v1::MemberSelection& message, scheduler::Selection& selection) {
  NF_RETURN_IF_ERROR(CheckEntries("selection.axes", message.axes_size(), kMaxNames));
  for (const v1::Setting& axis : message.axes()) {
    NF_RETURN_IF_ERROR(CheckText("selection.axes", axis.path(), kMaxName));
    const std::optional<SettingValue> value = SettingValueFrom(axis.value());
    if (!value) {
      return InvalidInput(fmt::format("selection.axes: expected a value of {}", axis.path()));
    }
    std::string text = ToText(*value);
    NF_RETURN_IF_ERROR(CheckText("selection.axes", text, kMaxValue));
    selection.axes[axis.path()].insert(std::move(text));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemberState> StateFrom(std::string_view field, int state) {
  const auto known = MemberStateFrom(static_cast<v1::MemberState>(state));
  if (known) return *known;
  return InvalidInput(fmt::format("{}: expected one of MemberState, got {}", field, state));
}

absl::StatusOr<SweepId> SweepFrom(uint64_t number) {
  if (number != 0) return SweepId{number};
  return InvalidInput("sweep_id: expected the number of a sweep, from 1, got 0");
}

absl::StatusOr<scheduler::Selection> SelectionFrom(SweepId sweep,
                                                   const v1::MemberSelection& message) {
  scheduler::Selection selection;
  NF_RETURN_IF_ERROR(CheckEntries("selection.states", message.states_size(), kMaxNames));
  for (const int state : message.states()) {
    NF_ASSIGN_OR_RETURN(const MemberState one, StateFrom("selection.states", state));
    selection.states.insert(one);
  }
  NF_RETURN_IF_ERROR(TakeNames("selection.plans", message.plans(), selection.plans));
  NF_RETURN_IF_ERROR(TakeNames("selection.hardware", message.hardware(), selection.hardware));
  NF_RETURN_IF_ERROR(TakeNames("selection.stacks", message.stacks(), selection.stacks));
  NF_RETURN_IF_ERROR(TakeNames("selection.workers", message.workers(), selection.workers));
  NF_RETURN_IF_ERROR(CheckEntries("selection.cells", message.cells_size(), kMaxMembers));
  selection.cells.insert(message.cells().begin(), message.cells().end());
  NF_RETURN_IF_ERROR(TakeMembers(sweep, message, selection));
  NF_RETURN_IF_ERROR(TakeAxes(message, selection));
  return selection;
}

absl::Status CheckRequestId(const std::string& id) {
  if (id.size() <= kMaxRequestId) return absl::OkStatus();
  return InvalidInput(
      fmt::format("request_id: expected at most {} bytes, got {}", kMaxRequestId, id.size()));
}

absl::Status CheckStack(const std::string& stack) {
  if (stack.empty() || IsName(stack)) return absl::OkStatus();
  return InvalidInput(
      fmt::format("stack: expected {}, got '{}'", kNameRule, stack.substr(0, kMaxQuoted)));
}

absl::Status CheckPriority(int32_t priority) {
  if (priority >= -kMaxPriority && priority <= kMaxPriority) return absl::OkStatus();
  return InvalidInput(
      fmt::format("priority: expected {} to {}, got {}", -kMaxPriority, kMaxPriority, priority));
}

absl::Status CheckWeight(uint32_t weight) {
  if (weight >= 1 && weight <= kMaxWeight) return absl::OkStatus();
  return InvalidInput(fmt::format("weight: expected 1 to {}, got {}", kMaxWeight, weight));
}

absl::Status CheckGpuHours(double hours) {
  if (std::isfinite(hours) && hours >= 0) return absl::OkStatus();
  return InvalidInput(fmt::format("gpu_hours: expected a number from 0, got {}", hours));
}

absl::StatusOr<std::map<std::string, uint32_t>> LimitsFrom(
    std::string_view field, const google::protobuf::Map<std::string, uint32_t>& limits) {
  NF_RETURN_IF_ERROR(CheckEntries(field, static_cast<int>(limits.size()), sweep::kMaxTags));
  std::map<std::string, uint32_t> taken;
  for (const auto& [hardware, most] : limits) {
    if (!IsName(hardware)) {
      return InvalidInput(fmt::format("{}: expected hardware classes, {}, got '{}'", field,
                                      kNameRule, std::string_view(hardware).substr(0, kMaxName)));
    }
    taken[hardware] = most;
  }
  return taken;
}

absl::StatusOr<sweep::Extension> ExtensionFrom(const v1::ExtendSweepRequest& message) {
  NF_RETURN_IF_ERROR(CheckEntries("hardware", message.hardware_size(), sweep::kMaxTags));
  sweep::Extension extension;
  extension.replicates = message.replicates();
  extension.blocks = message.blocks();
  for (const std::string& name : message.hardware()) {
    NF_RETURN_IF_ERROR(CheckText("hardware", name, kMaxName));
    extension.hardware.push_back(name);
  }
  NF_RETURN_IF_ERROR(TakeNames("plans", message.plans(), extension.plans));
  return extension;
}

absl::StatusOr<scheduler::SweepUpdated> UpdateFrom(const v1::UpdateSweepRequest& message) {
  scheduler::SweepUpdated event;
  event.sweep = SweepId{message.sweep_id()};
  if (message.has_priority()) {
    NF_RETURN_IF_ERROR(CheckPriority(message.priority()));
    event.priority = message.priority();
  }
  if (message.has_weight()) {
    NF_RETURN_IF_ERROR(CheckWeight(message.weight()));
    event.weight = message.weight();
  }
  if (message.has_gpu_hours()) {
    NF_RETURN_IF_ERROR(CheckGpuHours(message.gpu_hours()));
    event.gpu_hours = message.gpu_hours();
  }
  if (message.has_paused()) event.paused = message.paused();
  if (message.has_max_failures()) event.max_failures = message.max_failures();
  if (message.has_archived()) event.archived = message.archived();
  if (message.has_notes()) {
    NF_RETURN_IF_ERROR(CheckText("notes", message.notes(), sweep::kMaxNotesBytes));
    event.notes = message.notes();
  }
  NF_RETURN_IF_ERROR(
      CheckEntries("set_tags", static_cast<int>(message.set_tags().size()), sweep::kMaxTags));
  for (const auto& [tag, value] : message.set_tags()) {
    NF_RETURN_IF_ERROR(CheckText("set_tags", tag, kMaxName));
    NF_RETURN_IF_ERROR(CheckText("set_tags", value, kMaxName));
    event.set_tags[tag] = value;
  }
  NF_ASSIGN_OR_RETURN(event.set_limits, LimitsFrom("set_limits", message.set_limits()));
  NF_RETURN_IF_ERROR(TakeNames("remove_tags", message.remove_tags(), event.remove_tags));
  return event;
}

absl::StatusOr<scheduler::ShareUpdated> ShareFrom(const v1::UpdateShareRequest& message) {
  if (message.owner().empty()) return InvalidInput("owner: expected a name, got none");
  NF_RETURN_IF_ERROR(CheckText("owner", message.owner(), kMaxName));
  NF_RETURN_IF_ERROR(CheckWeight(message.weight()));
  return scheduler::ShareUpdated{.owner = message.owner(), .weight = message.weight()};
}

absl::StatusOr<scheduler::WorkerUpdated> UseFrom(const v1::UpdateWorkerRequest& message) {
  if (message.worker().empty()) return InvalidInput("worker: expected a name, got none");
  NF_RETURN_IF_ERROR(CheckText("worker", message.worker(), kMaxName));
  NF_RETURN_IF_ERROR(CheckText("unit", message.unit(), kMaxName));
  scheduler::WorkerUpdated event;
  event.worker = message.worker();
  event.unit = message.unit();
  if (message.has_draining()) event.drained = message.draining();
  if (message.has_quarantined()) event.quarantined = message.quarantined();
  if (!event.unit.empty() && !event.quarantined) {
    return InvalidInput("unit: says of which device `quarantined` tells, which is left out");
  }
  return event;
}

}  // namespace noisefloor
