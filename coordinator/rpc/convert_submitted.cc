// A sweep as it would be submitted, as a message.
#include <utility>

#include "common/rpc/kinds.h"
#include "common/rpc/settings.h"
#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

v1::Value ToProto(const SettingValue& value, Texts& texts) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return noisefloor::ToProto(value);
  v1::Value out;
  out.set_text(texts.Of(*text));
  return out;
}

v1::Axis ToProto(const sweep::Axis& axis, Texts& texts) {
  v1::Axis out;
  for (const sweep::AxisColumn& column : axis.columns) {
    v1::AxisColumn& out_column = *out.add_columns();
    out_column.set_path(texts.Of(column.path));
    for (const SettingValue& value : column.values)
      *out_column.add_values() = ToProto(value, texts);
  }
  return out;
}

v1::NoisePlan ToProto(const sweep::PlanRequest& plan, Texts& texts) {
  v1::NoisePlan out;
  out.set_name(texts.Of(plan.name));
  out.set_base(texts.Of(plan.base));
  out.set_replicates(plan.replicates);
  out.set_blocks(plan.blocks);
  for (const sweep::SourceRule& rule : plan.rules) {
    v1::SourceRule& out_rule = *out.add_rules();
    out_rule.set_source(texts.Of(rule.source));
    out_rule.set_state(ToProto(rule.rule.state));
    for (const uint32_t level : rule.rule.levels) out_rule.add_levels(level);
  }
  return out;
}

v1::HardwareChoice::Kind ToProto(sweep::HardwareKind kind) {
  switch (kind) {
    case sweep::HardwareKind::kAll: return v1::HardwareChoice::KIND_ALL;
    case sweep::HardwareKind::kAny: return v1::HardwareChoice::KIND_ANY;
    case sweep::HardwareKind::kList: return v1::HardwareChoice::KIND_LIST;
  }
  return v1::HardwareChoice::KIND_UNSPECIFIED;
}

}  // namespace

v1::Sweep ToProto(const sweep::SweepRequest& submitted, Texts& texts) {
  v1::Sweep out;
  out.set_name(texts.Of(submitted.name));
  out.set_seed(submitted.seed);
  for (const auto& [path, value] : submitted.training) {
    v1::Setting& setting = *out.add_training();
    setting.set_path(texts.Of(path));
    *setting.mutable_value() = ToProto(value, texts);
  }
  for (const sweep::Axis& axis : submitted.axes) *out.add_axes() = ToProto(axis, texts);
  for (const sweep::PlanRequest& plan : submitted.noise) *out.add_noise() = ToProto(plan, texts);
  out.mutable_hardware()->set_kind(ToProto(submitted.hardware));
  for (const std::string& name : submitted.classes) {
    out.mutable_hardware()->add_classes(texts.Of(name));
  }
  for (const std::string& stack : submitted.stacks) out.add_stacks(texts.Of(stack));
  out.set_replicates(submitted.replicates);
  out.set_blocks(submitted.blocks);
  if (submitted.reference_accuracy) out.set_reference_accuracy(*submitted.reference_accuracy);
  if (submitted.until) {
    v1::Until& until = *out.mutable_until();
    until.set_figure(std::string(Name(submitted.until->figure)));
    until.set_half_width(submitted.until->half_width);
    until.set_most(submitted.until->most);
  }
  out.set_notes(texts.Of(submitted.notes));
  for (const auto& [key, value] : submitted.tags) {
    (*out.mutable_tags())[texts.Of(key)] = texts.Of(value);
  }
  return out;
}

}  // namespace noisefloor
