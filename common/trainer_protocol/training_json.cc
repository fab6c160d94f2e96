#include "common/trainer_protocol/training_json.h"

#include <algorithm>
#include <string>

#include "common/trainer_protocol/schema_json.h"

namespace noisefloor {

namespace {

// The place of a dotted path in nested objects.
Json::json_pointer PointerTo(std::string_view path) {
  std::string pointer = "/" + std::string(path);
  std::ranges::replace(pointer, '.', '/');
  return Json::json_pointer(pointer);
}

absl::Status ReadSource(const Json& noise, NoiseSource source, Training& training) {
  const std::string name(Name(source));
  if (!noise.is_object() || !noise.contains(name)) {
    training.Source(source) = {.state = SourceState::kOff};
    if (!IsTold(source, SourceState::kOff)) return absl::OkStatus();
    return InvalidInput("noise." + name + ": missing");
  }
  JsonReader reader(noise[name], "noise." + name);
  SourceSpec& spec = training.Source(source);
  const auto state = ParseSourceState(reader.Text("state", 20));
  spec.lane.block = static_cast<uint32_t>(reader.Int("block", 0, UINT32_MAX));
  spec.lane.number = static_cast<uint32_t>(reader.Int("lane", 0, UINT32_MAX));
  spec.seed = reader.DecimalString("seed");
  if (!state) {
    reader.Fail("state", "off, fixed or free");
  } else if (!IsTold(source, *state)) {
    reader.Fail("state", "fixed or free, or the source left out");
  }
  spec.state = state.value_or(SourceState::kFixed);
  return reader.Finish();
}

// Every leaf, by its path.
absl::Status ReadSettings(const Json& json, const std::string& prefix, Settings& settings) {
  for (const auto& [key, value] : json.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (path == "noise" || path == "hardware_class" || path == "stack") continue;
    if (value.is_object()) {
      NF_RETURN_IF_ERROR(ReadSettings(value, path, settings));
      continue;
    }
    auto setting = SettingFromJson(value);
    if (!setting.ok()) return Annotate(setting.status(), path);
    settings.emplace_back(path, *std::move(setting));
  }
  return absl::OkStatus();
}

}  // namespace

Json TrainingAsJson(const Training& training) {
  Json json = Json::object();
  for (const auto& [path, value] : training.settings) json[PointerTo(path)] = ToJson(value);
  for (const NoiseSource source : kAllNoiseSources) {
    const SourceSpec& spec = training.Source(source);
    if (!IsTold(source, spec.state)) continue;
    json["noise"][std::string(Name(source))] = {{"state", Name(spec.state)},
                                                {"block", spec.lane.block},
                                                {"lane", spec.lane.number},
                                                {"seed", std::to_string(spec.seed)}};
  }
  json["hardware_class"] = training.hardware_class;
  json["stack"] = training.stack;
  return json;
}

std::optional<std::vector<uint32_t>> LevelsFrom(const Json& json) {
  if (!json.is_array() || json.empty()) return std::nullopt;
  std::vector<uint32_t> levels;
  for (const Json& level : json) {
    if (!level.is_number_unsigned() || level.get<uint64_t>() > UINT32_MAX) return std::nullopt;
    levels.push_back(level.get<uint32_t>());
  }
  return levels;
}

std::string TrainingToJson(const Training& training) { return TrainingAsJson(training).dump(); }

absl::StatusOr<Training> TrainingFrom(const Json& json) {
  if (!json.is_object()) return InvalidInput("specification: expected a JSON object");
  Training training;
  NF_RETURN_IF_ERROR(ReadSettings(json, "", training.settings));
  const Json noise = json.value("noise", Json::object());
  for (const NoiseSource source : kAllNoiseSources) {
    NF_RETURN_IF_ERROR(ReadSource(noise, source, training));
  }
  for (const auto& [name, source] : noise.items()) {
    if (!ParseNoiseSource(name)) return InvalidInput("noise: unknown source");
  }
  for (const char* key : {"hardware_class", "stack"}) {
    if (!json.contains(key) || !json[key].is_string()) {
      return InvalidInput(std::string(key) + ": expected a text");
    }
  }
  training.hardware_class = json["hardware_class"].get<std::string>();
  training.stack = json["stack"].get<std::string>();
  return training;
}

absl::StatusOr<Training> TrainingFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  return TrainingFrom(json);
}

}  // namespace noisefloor
