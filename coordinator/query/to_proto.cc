#include "coordinator/query/to_proto.h"

#include <utility>
#include <variant>

#include "common/rpc/settings.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/query/rows.h"
#include "coordinator/store/sweep_json.h"

namespace noisefloor::query {

using noisefloor::ToProto;

v1::SourceState ToProto(SourceState state) {
  switch (state) {
    case SourceState::kOff: return v1::SOURCE_STATE_OFF;
    case SourceState::kFixed: return v1::SOURCE_STATE_FIXED;
    case SourceState::kFree: return v1::SOURCE_STATE_FREE;
  }
  return v1::SOURCE_STATE_UNSPECIFIED;
}

namespace {

v1::Axis ToProto(const sweep::Axis& axis) {
  v1::Axis out;
  for (const sweep::AxisColumn& column : axis.columns) {
    v1::AxisColumn& out_column = *out.add_columns();
    out_column.set_path(column.path);
    for (const SettingValue& value : column.values)
      *out_column.add_values() = query::ToProto(value);
  }
  return out;
}

v1::NoisePlan ToProto(const sweep::NoisePlan& plan) {
  v1::NoisePlan out;
  out.set_name(plan.name);
  out.set_replicates(plan.replicates);
  out.set_blocks(plan.blocks);
  const sweep::SourceStates* built_in = sweep::BuiltInPlan(plan.name);
  if (built_in != nullptr && *built_in == plan.states) return out;
  out.set_base("control");
  const sweep::SourceStates* control = sweep::BuiltInPlan("control");
  for (size_t i = 0; i < kAllNoiseSources.size(); ++i) {
    if (control != nullptr && (*control)[i] == plan.states[i]) continue;
    v1::SourceRule& rule = *out.add_rules();
    rule.set_source(std::string(Name(kAllNoiseSources[i])));
    rule.set_state(query::ToProto(plan.states[i]));
  }
  return out;
}

void SetHardware(const sweep::Sweep& sweep, v1::Sweep& out) {
  v1::HardwareChoice& choice = *out.mutable_hardware();
  if (sweep.hardware.size() == 1 && sweep.hardware.front().empty()) {
    choice.set_kind(v1::HardwareChoice::KIND_ANY);
    return;
  }
  choice.set_kind(v1::HardwareChoice::KIND_LIST);
  for (const std::string& name : sweep.hardware) choice.add_classes(name);
}

}  // namespace

v1::Sweep ToProto(const sweep::Sweep& sweep) {
  v1::Sweep out;
  out.set_name(sweep.name);
  out.set_seed(sweep.seed);
  for (const sweep::Setting& setting : sweep.base) {
    if (!IsDefault(sweep, setting)) *out.add_training() = ToProto(setting);
  }
  for (const sweep::Axis& axis : sweep.axes) *out.add_axes() = ToProto(axis);
  for (const sweep::NoisePlan& plan : sweep.plans) *out.add_noise() = ToProto(plan);
  SetHardware(sweep, out);
  for (const std::string& stack : sweep.stacks) {
    if (!stack.empty()) out.add_stacks(stack);
  }
  out.set_replicates(sweep.replicates);
  out.set_blocks(sweep.blocks);
  if (sweep.reference_accuracy) out.set_reference_accuracy(*sweep.reference_accuracy);
  out.set_notes(sweep.notes);
  for (const auto& [key, value] : sweep.tags) (*out.mutable_tags())[key] = value;
  return out;
}

v1::MemberState StateFromName(std::string_view name) {
  for (int state = v1::MEMBER_STATE_WAITING; state <= v1::MEMBER_STATE_CANCELLED; ++state) {
    if (NameOf(static_cast<v1::MemberState>(state)) == name) {
      return static_cast<v1::MemberState>(state);
    }
  }
  return v1::MEMBER_STATE_UNSPECIFIED;
}

std::string_view NameOf(v1::MemberState state) {
  if (state == v1::MEMBER_STATE_WAITING) return "waiting";
  if (state == v1::MEMBER_STATE_LEASED) return "leased";
  if (state == v1::MEMBER_STATE_DONE) return "done";
  if (state == v1::MEMBER_STATE_DIVERGED) return "diverged";
  if (state == v1::MEMBER_STATE_FAILED) return "failed";
  if (state == v1::MEMBER_STATE_CANCELLED) return "cancelled";
  return "";
}

v1::Outcome::Kind OutcomeKindFromName(std::string_view name) {
  if (name == "done") return v1::Outcome::KIND_DONE;
  if (name == "diverged") return v1::Outcome::KIND_DIVERGED;
  if (name == "failed") return v1::Outcome::KIND_FAILED;
  return v1::Outcome::KIND_UNSPECIFIED;
}

std::vector<v1::Setting> SettingsIn(std::string_view json) {
  std::vector<v1::Setting> settings;
  const absl::StatusOr<Json> parsed = ParseJson(json);
  if (!parsed.ok() || !parsed->is_object()) return settings;
  for (const auto& [path, value] : parsed->items()) {
    absl::StatusOr<SettingValue> setting = SettingFromJson(value);
    if (setting.ok()) settings.push_back(ToProto(sweep::Setting(path, *std::move(setting))));
  }
  return settings;
}

}  // namespace noisefloor::query
