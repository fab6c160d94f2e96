// What a scalar of a sweep file means, with one answer for what YAML dialects disagree about:
// true and false are the only booleans; integers are decimal digits (no 0x10, 1_000, 010);
// 1e-3, .5 and 5. are numbers; nan and infinity are none; what is quoted is text. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/status.h"
#include "common/trainer_protocol/schema.h"
#include "coordinator/sweep_file/yaml_tree.h"

namespace noisefloor::sweep_file {

std::optional<int64_t> AsInteger(const YamlNode& node);
std::optional<uint64_t> AsUnsigned(const YamlNode& node);
std::optional<double> AsNumber(const YamlNode& node);

// The value of a setting, in the rule's own kind and limits. The error's message says what was
// expected and what was found, without the path: "expected true or false, got yes".
absl::StatusOr<SettingValue> AsSetting(const SettingRule& rule, const YamlNode& node);

}  // namespace noisefloor::sweep_file
