#include "coordinator/report/json_facts.h"

#include "nlohmann/json.hpp"

namespace noisefloor::report {
namespace {

using Json = nlohmann::ordered_json;

std::string Plain(const Json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool IsListOfPlain(const Json& value) {
  if (!value.is_array()) return false;
  for (const Json& item : value) {
    if (item.is_structured()) return false;
  }
  return true;
}

// An item of a list under its own name, or under its place when it has none.
std::pair<std::string, Json> NamedItem(Json item, size_t position) {
  const Json name = item.is_object() ? item.value("name", Json()) : Json();
  if (!name.is_string()) return {std::to_string(position), std::move(item)};
  item.erase("name");
  return {name.get<std::string>(), std::move(item)};
}

void Flatten(const std::string& path, const Json& value,
             std::vector<std::pair<std::string, std::string>>& facts) {
  if (value.is_object() || (value.is_array() && !IsListOfPlain(value))) {
    size_t position = 0;
    for (auto it = value.begin(); it != value.end(); ++it, ++position) {
      const auto [key, item] =
          value.is_object() ? std::pair(it.key(), *it) : NamedItem(*it, position);
      Flatten(path.empty() ? key : path + "." + key, item, facts);
    }
    return;
  }
  if (!value.is_array()) {
    facts.emplace_back(path, Plain(value));
    return;
  }
  std::string joined;
  for (const Json& item : value) joined += (joined.empty() ? "" : ", ") + Plain(item);
  facts.emplace_back(path, joined);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> FlattenObject(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> facts;
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (object.is_object()) Flatten("", object, facts);
  return facts;
}

}  // namespace noisefloor::report
