#include "common/trainer_protocol/fields.h"
#include "common/trainer_protocol/json.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/training_json.h"

namespace noisefloor {

namespace {

absl::StatusOr<Specification> SpecificationFrom(const Json& json) {
  NF_ASSIGN_OR_RETURN(const Training training, TrainingFrom(json));
  Specification specification;
  for (const auto& [path, value] : training.settings) {
    if (FindField(path) == nullptr) return InvalidInput(path + ": unknown key");
  }
  for (const Field& field : AllFields()) {
    const std::string& path = field.rule.path;
    const SettingValue* value = FindSetting(training.settings, path);
    if (value == nullptr) {
      // What was written for 0.2 lacks only what leaves a training as it was: Trains in fields.h.
      if (SettingsOf02()->Find(path) != nullptr) return InvalidInput(path + ": missing");
      continue;
    }
    NF_RETURN_IF_ERROR(SetField(specification, path, *value));
  }
  specification.noise = training.noise;
  specification.hardware_class = training.hardware_class;
  specification.stack = training.stack;
  if (const auto problems = CheckTogether(specification); !problems.empty()) {
    return InvalidInput(problems[0].path + ": " + problems[0].message);
  }
  return specification;
}

// What it measures with is drawn, not read.
bool MeasuresCost(const Json& specification) {
  const Json::json_pointer steps("/measure/steps");
  return specification.is_object() && specification.contains(steps) &&
         specification[steps].is_number_integer() && specification[steps] > 0;
}

}  // namespace

std::string SpecificationToJson(const Specification& specification) {
  return TrainingToJson(TrainingOf(specification));
}

absl::StatusOr<Specification> SpecificationFromJson(std::string_view json) {
  NF_ASSIGN_OR_RETURN(const Json parsed, ParseJson(json));
  return SpecificationFrom(parsed);
}

std::string RequestToJson(const TrainerRequest& request) {
  return RequestToJson(
      PassedRequest{request.member, request.attempt, SpecificationToJson(request.specification),
                    request.specification_sha256, request.data_root, request.work_directory,
                    request.write_evaluation_set, request.weights});
}

std::string RequestToJson(const PassedRequest& request) {
  Json json = {{"protocol", kTrainerProtocolVersion},
               {"member", request.member},
               {"attempt", request.attempt},
               {"specification_sha256", request.specification_sha256},
               {"data_root", request.data_root},
               {"work_directory", request.work_directory},
               {"write_evaluation_set", request.write_evaluation_set}};
  if (!request.weights.empty()) json["weights"] = request.weights;
  std::string text = json.dump();
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
  const bool measures = MeasuresCost(json);
  if (!measures) (void)text("/data/name", needs.data_set);
  (void)text("/noise/kernels/state", kernels);
  // A measurement has an arm with fixed ones.
  needs.kernels_free = kernels == Name(SourceState::kFree) && !measures;
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
  if (reader.Has("weights")) request.weights = reader.Text("weights", 4096);
  const Json& specification = reader.Any("specification");
  NF_RETURN_IF_ERROR(reader.Finish());
  NF_ASSIGN_OR_RETURN(request.specification, SpecificationFrom(specification));
  return request;
}

}  // namespace noisefloor
