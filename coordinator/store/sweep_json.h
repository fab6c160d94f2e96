// A resolved sweep as the text that is kept, and back.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor {

// {"name": ..., "training": {path: value, ...}, "axes": [...], "plans": [...], ...}. Bytes that are
// no UTF-8 are replaced.
std::string SweepToJson(const sweep::Sweep& sweep);

// Settings that are not in the text keep their defaults, so that a newer program reads what an
// older one kept. Internal for what SweepToJson never writes.
absl::StatusOr<sweep::Sweep> SweepFromJson(std::string_view text);

Json ToJson(const SettingValue& value);
absl::StatusOr<SettingValue> SettingFromJson(const Json& json);

// {path: value, ...}, as the table `cell` keeps its axes.
std::string SettingsToJson(const std::vector<sweep::Setting>& settings);

// JSON text; never throws, whatever bytes the texts in it hold.
std::string Dump(const Json& json);

}  // namespace noisefloor
