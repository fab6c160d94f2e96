#include "common/rpc/settings.h"

#include <utility>
#include <vector>

namespace noisefloor {

namespace {

// The messages' kinds are ours and one, in the same order.
v1::SettingKind KindOf(SettingKind kind) {
  return static_cast<v1::SettingKind>(static_cast<int>(kind) + 1);
}

std::optional<SettingKind> KindFrom(v1::SettingKind kind) {
  if (kind < v1::SETTING_KIND_BOOLEAN || kind > v1::SETTING_KIND_INTEGER_LIST) return std::nullopt;
  return static_cast<SettingKind>(kind - 1);
}

absl::StatusOr<SettingRule> RuleFrom(const v1::SettingDescription& message) {
  const std::optional<SettingKind> kind = KindFrom(message.kind());
  std::optional<SettingValue> otherwise = SettingValueFrom(message.otherwise());
  if (!kind || !otherwise) return InvalidInput("settings: " + message.path() + " has no kind");
  return SettingRule{message.path(),       *kind,
                     message.help(),       message.least(),
                     message.most(),       {message.choices().begin(), message.choices().end()},
                     *std::move(otherwise)};
}

}  // namespace

v1::Value ToProto(const SettingValue& value) {
  v1::Value out;
  if (const auto* boolean = std::get_if<bool>(&value)) out.set_boolean(*boolean);
  if (const auto* integer = std::get_if<int64_t>(&value)) out.set_integer(*integer);
  if (const auto* number = std::get_if<double>(&value)) out.set_number(*number);
  if (const auto* text = std::get_if<std::string>(&value)) out.set_text(*text);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    out.mutable_list()->mutable_values()->Add(list->begin(), list->end());
  }
  return out;
}

v1::Setting ToProto(const Setting& setting) {
  v1::Setting out;
  out.set_path(setting.first);
  *out.mutable_value() = ToProto(setting.second);
  return out;
}

std::optional<SettingValue> SettingValueFrom(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolean: return SettingValue(value.boolean());
    case v1::Value::kInteger: return SettingValue(value.integer());
    case v1::Value::kNumber: return SettingValue(value.number());
    case v1::Value::kText: return SettingValue(value.text());
    case v1::Value::kList: {
      const auto& values = value.list().values();
      return SettingValue(std::vector<int64_t>(values.begin(), values.end()));
    }
    case v1::Value::KIND_NOT_SET: break;
  }
  return std::nullopt;
}

v1::SettingDescription ToProto(const SettingRule& rule) {
  v1::SettingDescription out;
  out.set_path(rule.path);
  out.set_kind(KindOf(rule.kind));
  out.set_help(rule.help);
  out.set_least(rule.least);
  out.set_most(rule.most);
  out.mutable_choices()->Add(rule.choices.begin(), rule.choices.end());
  *out.mutable_otherwise() = ToProto(rule.otherwise);
  return out;
}

absl::StatusOr<SettingsSchema> SchemaFrom(const v1::ListSettingsResponse& response) {
  std::vector<SettingRule> rules;
  for (const v1::SettingDescription& setting : response.settings()) {
    NF_ASSIGN_OR_RETURN(SettingRule rule, RuleFrom(setting));
    rules.push_back(std::move(rule));
  }
  return SettingsSchema(std::move(rules));
}

}  // namespace noisefloor
