#include "coordinator/query/rows.h"

#include <limits>
#include <optional>
#include <utility>

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/schema_json.h"
#include "coordinator/store/recover_check.h"

namespace noisefloor::query {

bool IsDefault(const sweep::Sweep& sweep, const sweep::Setting& setting) {
  const SettingsSchemaRef schema = BuiltInSchema(sweep.schema);
  const SettingRule* rule = schema == nullptr ? nullptr : schema->Find(setting.first);
  return rule != nullptr && rule->otherwise == setting.second;
}

absl::StatusOr<MemberState> StateOf(const MemberId& member, std::string_view stored) {
  const std::optional<MemberState> state = ParseMemberState(stored);
  if (!state) return Damaged(ToText(member), "its state is none");
  return *state;
}

Settings SettingsIn(std::string_view json) {
  Settings settings;
  const absl::StatusOr<Json> parsed = ParseJson(json);
  if (!parsed.ok() || !parsed->is_object()) return settings;
  for (const auto& [path, value] : parsed->items()) {
    absl::StatusOr<SettingValue> setting = SettingFromJson(value);
    if (setting.ok()) settings.emplace_back(path, *std::move(setting));
  }
  return settings;
}

std::vector<double> NumbersIn(std::string_view json) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> numbers;
  if (json.empty()) return numbers;
  const auto list = ParseJson(json);
  if (!list.ok() || !list->is_array()) return numbers;
  for (const Json& value : *list) numbers.push_back(NumberFromJson(value).value_or(kNone));
  return numbers;
}

}  // namespace noisefloor::query
