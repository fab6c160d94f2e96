#include "fmt/format.h"

#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {

namespace {

Json ToJson(const SettingValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

// The place of a dotted path in nested objects.
Json::json_pointer PointerTo(std::string_view path) {
  std::string pointer = "/" + std::string(path);
  for (char& c : pointer) {
    if (c == '.') c = '/';
  }
  return Json::json_pointer(pointer);
}

absl::StatusOr<SettingValue> ValueFromJson(const Json& json) {
  if (json.is_boolean()) return SettingValue(json.get<bool>());
  if (json.is_number_integer()) return SettingValue(json.get<int64_t>());
  if (json.is_number()) return SettingValue(json.get<double>());
  if (json.is_string()) return SettingValue(json.get<std::string>());
  if (!json.is_array()) return InvalidInput("expected a value or a list of integers");
  std::vector<int64_t> list;
  for (const Json& element : json) {
    if (!element.is_number_integer()) return InvalidInput("expected a list of integers");
    list.push_back(element.get<int64_t>());
  }
  return SettingValue(std::move(list));
}

Json SpecificationJson(const Specification& specification) {
  Json json = Json::object();
  for (const Field& field : AllFields()) {
    json[PointerTo(field.path)] = ToJson(field.get(specification));
  }
  for (const NoiseSource source : kAllNoiseSources) {
    const SourceSpec& spec = specification.Source(source);
    json["noise"][std::string(Name(source))] = {{"state", Name(spec.state)},
                                                {"block", spec.lane.block},
                                                {"lane", spec.lane.number},
                                                {"seed", std::to_string(spec.seed)}};
  }
  json["hardware_class"] = specification.hardware_class;
  json["stack"] = specification.stack;
  return json;
}

absl::Status ReadSource(const Json& noise, NoiseSource source, Specification& specification) {
  const std::string name(Name(source));
  if (!noise.is_object() || !noise.contains(name)) {
    return InvalidInput("noise." + name + ": missing");
  }
  JsonReader reader(noise[name], "noise." + name);
  SourceSpec& spec = specification.Source(source);
  const auto state = ParseSourceState(reader.Text("state", 20));
  spec.lane.block = static_cast<uint32_t>(reader.Int("block", 0, UINT32_MAX));
  spec.lane.number = static_cast<uint32_t>(reader.Int("lane", 0, UINT32_MAX));
  spec.seed = reader.DecimalString("seed");
  if (!state) reader.Fail("state", "off, fixed or free");
  spec.state = state.value_or(SourceState::kFixed);
  return reader.Finish();
}

// Every leaf of `json` must be a field or one of the keys beside the fields.
absl::Status RefuseUnknown(const Json& json, const std::string& prefix) {
  for (const auto& [key, value] : json.items()) {
    const std::string path = prefix.empty() ? key : fmt::format("{}.{}", prefix, key);
    if (path == "noise" || path == "hardware_class" || path == "stack") continue;
    if (FindField(path) != nullptr) continue;
    if (!value.is_object()) return InvalidInput(path + ": unknown key");
    NF_RETURN_IF_ERROR(RefuseUnknown(value, path));
  }
  return absl::OkStatus();
}

absl::Status ReadFields(const Json& json, Specification& specification) {
  for (const Field& field : AllFields()) {
    const auto pointer = PointerTo(field.path);
    if (!json.contains(pointer)) return InvalidInput(std::string(field.path) + ": missing");
    auto value = ValueFromJson(json[pointer]);
    if (!value.ok()) return Annotate(value.status(), field.path);
    NF_RETURN_IF_ERROR(SetField(specification, field.path, *std::move(value)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Specification> SpecificationFrom(const Json& json) {
  if (!json.is_object()) return InvalidInput("specification: expected a JSON object");
  NF_RETURN_IF_ERROR(RefuseUnknown(json, ""));
  Specification specification;
  NF_RETURN_IF_ERROR(ReadFields(json, specification));
  const Json noise = json.value("noise", Json::object());
  for (const NoiseSource source : kAllNoiseSources) {
    NF_RETURN_IF_ERROR(ReadSource(noise, source, specification));
  }
  if (noise.size() != kAllNoiseSources.size()) return InvalidInput("noise: unknown source");
  for (const char* key : {"hardware_class", "stack"}) {
    if (!json.contains(key) || !json[key].is_string()) {
      return InvalidInput(std::string(key) + ": expected a text");
    }
  }
  specification.hardware_class = json["hardware_class"].get<std::string>();
  specification.stack = json["stack"].get<std::string>();
  if (const auto problems = CheckTogether(specification); !problems.empty()) {
    return InvalidInput(problems[0].path + ": " + problems[0].message);
  }
  return specification;
}

}  // namespace

std::string SpecificationToJson(const Specification& specification) {
  return SpecificationJson(specification).dump();
}

absl::StatusOr<Specification> SpecificationFromJson(std::string_view json) {
  NF_ASSIGN_OR_RETURN(const Json parsed, ParseJson(json));
  return SpecificationFrom(parsed);
}

std::string RequestToJson(const TrainerRequest& request) {
  return RequestToJson(PassedRequest{request.member, request.attempt,
                                     SpecificationToJson(request.specification),
                                     request.specification_sha256, request.data_root,
                                     request.work_directory, request.write_evaluation_set});
}

std::string RequestToJson(const PassedRequest& request) {
  std::string text = Json{{"protocol", kTrainerProtocolVersion},
                          {"member", request.member},
                          {"attempt", request.attempt},
                          {"specification_sha256", request.specification_sha256},
                          {"data_root", request.data_root},
                          {"work_directory", request.work_directory},
                          {"write_evaluation_set", request.write_evaluation_set}}
                         .dump();
  text.pop_back();  // The closing brace.
  return text.append(",\"specification\":").append(request.specification).append("}");
}

absl::StatusOr<TrainerNeeds> NeedsOf(std::string_view specification) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(specification));
  TrainerNeeds needs;
  const auto text = [&](const char* path, std::string& value) {
    const Json::json_pointer pointer(path);
    if (!json.is_object() || !json.contains(pointer) || !json[pointer].is_string()) return false;
    value = json[pointer].get<std::string>();
    return true;
  };
  if (!text("/stack", needs.stack)) return InvalidInput("stack: expected a text");
  if (!text("/hardware_class", needs.hardware_class)) {
    return InvalidInput("hardware_class: expected a text");
  }
  std::string kernels;
  (void)text("/data/name", needs.data_set);
  (void)text("/noise/kernels/state", kernels);
  needs.kernels_free = kernels == Name(SourceState::kFree);
  return needs;
}

absl::StatusOr<TrainerRequest> RequestFromJson(std::string_view json) {
  NF_ASSIGN_OR_RETURN(const Json parsed, ParseJson(json));
  JsonReader reader(parsed, "");
  TrainerRequest request;
  if (reader.Int("protocol", 1, INT32_MAX) != kTrainerProtocolVersion) {
    reader.Fail("protocol", "version " + std::to_string(kTrainerProtocolVersion));
  }
  request.member = reader.Text("member", 200);
  if (reader.Has("specification_sha256")) {
    request.specification_sha256 = reader.Text("specification_sha256", 64);
  }
  request.attempt = static_cast<uint32_t>(reader.Int("attempt", 1, UINT32_MAX));
  request.data_root = reader.Text("data_root", 4096);
  request.work_directory = reader.Text("work_directory", 4096);
  request.write_evaluation_set = reader.Bool("write_evaluation_set");
  const Json& specification = reader.Any("specification");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_ASSIGN_OR_RETURN(request.specification, SpecificationFrom(specification));
  return request;
}

}  // namespace noisefloor
