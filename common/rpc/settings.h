// Settings and what they may be as messages, and back. Pure.
#pragma once

#include <optional>

#include "common/trainer_protocol/schema.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

v1::Value ToProto(const SettingValue& value);
v1::Setting ToProto(const Setting& setting);
// Nothing for a value that is none of the kinds.
std::optional<SettingValue> SettingValueFrom(const v1::Value& value);

v1::SettingDescription ToProto(const SettingRule& rule);
// InvalidArgument for what ToProto never writes.
absl::StatusOr<SettingsSchema> SchemaFrom(const v1::ListSettingsResponse& response);

}  // namespace noisefloor
