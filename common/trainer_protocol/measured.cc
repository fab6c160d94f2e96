#include "common/trainer_protocol/measured.h"

#include <utility>

#include "common/trainer_protocol/json_reader.h"

namespace noisefloor {

namespace {

constexpr char kMeasured[] = "measured";

std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Move(Json& from, const char* key, Json& to, const char* as) {
  const auto it = from.find(key);
  if (it == from.end()) return;
  to[as] = std::move(*it);
  from.erase(it);
}

}  // namespace

absl::StatusOr<EnvironmentParts> SplitEnvironment(std::string_view environment) {
  NF_ASSIGN_OR_RETURN(Json facts, ParseJson(environment));
  if (!facts.is_object()) return InvalidInput("environment: expected a JSON object");
  Json measured = Json::object();
  if (const auto it = facts.find(kMeasured); it != facts.end()) {
    measured = it->is_object() ? std::move(*it) : Json{{kMeasured, std::move(*it)}};
    facts.erase(it);
  }
  Move(facts, "load_at_end", measured, "load_at_end");
  if (const auto machine = facts.find("machine"); machine != facts.end() && machine->is_object()) {
    Move(*machine, "load", measured, "load_at_start");
  }
  return EnvironmentParts{TextOf(facts), measured.empty() ? "" : TextOf(measured)};
}

std::string JoinEnvironment(std::string_view facts, std::string_view measured) {
  if (measured.empty() || !facts.ends_with('}')) return std::string(facts);
  std::string joined(facts.substr(0, facts.size() - 1));
  if (joined != "{") joined += ',';
  return joined.append("\"").append(kMeasured).append("\":").append(measured).append("}");
}

}  // namespace noisefloor
