// A schema, and values of settings, as JSON and back. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/schema.h"

namespace noisefloor {

Json ToJson(const SettingValue& value);
// Internal for what ToJson never writes.
absl::StatusOr<SettingValue> SettingFromJson(const Json& json);

// As SettingsSchema::ToJson; without `with_help` the canonical text of which a schema's identity is
// taken.
std::string SchemaToJson(const std::vector<SettingRule>& rules, bool with_help);
// As SettingsSchema::FromJson.
absl::StatusOr<std::vector<SettingRule>> SchemaFromJson(std::string_view text);

}  // namespace noisefloor
