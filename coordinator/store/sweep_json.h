// A resolved sweep as the text that is kept, and back.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/schema_json.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor {

// {"name": ..., "training": {path: value, ...}, "axes": [...], "plans": [...], ...}. Bytes that are
// no UTF-8 are replaced.
std::string SweepToJson(const sweep::Sweep& sweep);

// Of the settings of version 0.2 those that are not in the text keep their defaults, and the order
// is that of our table; of others it is that of their paths. Internal for what SweepToJson never
// writes.
absl::StatusOr<sweep::Sweep> SweepFromJson(std::string_view text);

// "[0,0,1,1]": the levels of a lane rule; "" where it has none.
std::string LevelsToJson(const std::vector<uint32_t>& levels);
// Nothing for texts that it does not write.
std::optional<std::vector<uint32_t>> LevelsFromJson(std::string_view text);

// {"nvidia-h200": 4}: how many members may run at once on a class. Internal for other texts.
std::string LimitsToJson(const std::map<std::string, uint32_t>& limits);
absl::StatusOr<std::map<std::string, uint32_t>> LimitsFromJson(std::string_view text);

// {path: value, ...}, as the table `cell` keeps its axes.
std::string SettingsToJson(const std::vector<sweep::Setting>& settings);

// JSON text; never throws, whatever bytes the texts in it hold.
std::string Dump(const Json& json);

}  // namespace noisefloor
