// The settings of a training as values by their paths, whoever's trainer they are for. Plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace noisefloor {

// The value of a setting, as a sweep file or an axis gives it.
using SettingValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

std::string ToText(const SettingValue& value);  // "0.05", "true", "[1, 2]"; shortest exact number

using Setting = std::pair<std::string, SettingValue>;  // "train.epochs", 2
// Each path once.
using Settings = std::vector<Setting>;

// Null when there is none of that path.
const SettingValue* FindSetting(const Settings& settings, std::string_view path);
// A text or an integer; "" and 0 when there is no such setting of that kind.
std::string TextSetting(const Settings& settings, std::string_view path);
int64_t IntSetting(const Settings& settings, std::string_view path);
// Replaces the value of `path`, or adds it at the end.
void PutSetting(Settings& settings, std::string_view path, SettingValue value);

}  // namespace noisefloor
