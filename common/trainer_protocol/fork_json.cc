#include "common/trainer_protocol/fork_json.h"

#include <limits>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {

namespace {

constexpr int64_t kMostProcess = std::numeric_limits<int32_t>::max();
constexpr int kMostCore = 64 * 1024;

}  // namespace

std::string ForkRequestToJson(const ForkRequest& request) {
  const Json json = {{"protocol", kForkProtocolVersion},
                     {"parent", request.parent},
                     {"cores", request.cores},
                     {"variables", request.variables}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<ForkRequest> ForkRequestFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  JsonReader reader(json, "");
  ForkRequest request;
  (void)reader.Int("protocol", kForkProtocolVersion, kForkProtocolVersion);
  request.parent = reader.Int("parent", 1, kMostProcess);
  const Json& cores = reader.Any("cores");
  if (!cores.is_array()) reader.Fail("cores", "an array");
  for (const Json& core : cores.is_array() ? cores : Json::array()) {
    const bool good = core.is_number_unsigned() && core < kMostCore;
    if (!good) reader.Fail("cores", "numbers of cores");
    if (good) request.cores.push_back(core.get<int>());
  }
  const Json& variables = reader.Any("variables");
  if (!variables.is_object()) reader.Fail("variables", "an object");
  const Json none = Json::object();
  for (const auto& [name, value] : (variables.is_object() ? variables : none).items()) {
    if (!value.is_string()) reader.Fail("variables", "texts");
    if (value.is_string()) request.variables[name] = value.get<std::string>();
  }
  NF_RETURN_IF_ERROR(reader.Finish());
  return request;
}

std::string ForkAnswerToJson(const ForkAnswer& answer) {
  switch (answer.kind) {
    case ForkAnswer::Kind::kReady: return Json{{"ready", kForkProtocolVersion}}.dump();
    case ForkAnswer::Kind::kForked: return Json{{"process", answer.process}}.dump();
    case ForkAnswer::Kind::kStarted: return Json{{"started", true}}.dump();
    case ForkAnswer::Kind::kRefused: break;
  }
  return Json{{"refused", answer.refusal}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<ForkAnswer> ForkAnswerFromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  JsonReader reader(json, "");
  ForkAnswer answer;
  if (reader.Has("ready")) {
    answer.kind = ForkAnswer::Kind::kReady;
    (void)reader.Int("ready", kForkProtocolVersion, kForkProtocolVersion);
  } else if (reader.Has("process")) {
    answer.kind = ForkAnswer::Kind::kForked;
    answer.process = reader.Int("process", 1, kMostProcess);
  } else if (reader.Has("started")) {
    answer.kind = ForkAnswer::Kind::kStarted;
    if (!reader.Bool("started")) reader.Fail("started", "true");
  } else {
    answer.refusal = reader.Text("refused", kMostForkBytes);
  }
  NF_RETURN_IF_ERROR(reader.Finish());
  return answer;
}

}  // namespace noisefloor
