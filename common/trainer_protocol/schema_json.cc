#include "common/trainer_protocol/schema_json.h"

#include <algorithm>
#include <array>
#include <set>

namespace noisefloor {

namespace {

constexpr size_t kMostPath = 200;      // Bytes.
constexpr size_t kMostHelp = 1000;     // Bytes.
constexpr size_t kMostChoices = 1000;  // And bytes of each: kMostPath.

// What a sweep file and a specification have besides settings.
constexpr std::array<std::string_view, 16> kTaken = {
    "name",   "seed",       "axes",   "noise", "hardware", "hardware_class",
    "stack",  "replicates", "blocks", "notes", "tags",     "reference_accuracy",
    "stacks", "until",      "kind",   "design"};

constexpr std::array<std::string_view, 6> kKinds = {"boolean", "integer", "number",
                                                    "choice",  "text",    "integers"};

std::string_view FirstPart(std::string_view path) { return path.substr(0, path.find('.')); }

// Parts of lower-case letters, digits, '_' and '-', joined by single dots.
bool IsPath(std::string_view path) {
  if (path.empty() || path.size() > kMostPath || path.front() == '.' || path.back() == '.') {
    return false;
  }
  return path.find("..") == std::string_view::npos && std::ranges::all_of(path, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
                  c == '.';
         });
}

void ReadLimits(JsonReader& reader, SettingRule& rule) {
  const bool numbers = rule.kind == SettingKind::kInt || rule.kind == SettingKind::kNumber ||
                       rule.kind == SettingKind::kIntList;
  if (numbers) rule.least = reader.Number("least");
  if (numbers || rule.kind == SettingKind::kText) rule.most = reader.Number("most");
  if (!std::isfinite(rule.least) || !std::isfinite(rule.most) || rule.most < rule.least) {
    reader.Fail("most", "a finite number, not below least");
  }
}

void ReadChoices(JsonReader& reader, SettingRule& rule) {
  if (rule.kind != SettingKind::kChoice) return;
  const Json& choices = reader.Any("choices");
  if (!choices.is_array() || choices.empty() || choices.size() > kMostChoices) {
    return reader.Fail("choices", "a list of 1 to 1000 texts");
  }
  for (const Json& choice : choices) {
    const bool fits = choice.is_string() && !choice.get_ref<const std::string&>().empty() &&
                      choice.get_ref<const std::string&>().size() <= kMostPath;
    if (!fits) return reader.Fail("choices", "texts of 1 to 200 bytes");
    rule.choices.push_back(choice.get<std::string>());
  }
}

absl::StatusOr<SettingRule> RuleFromJson(const Json& json, const std::string& where) {
  if (!json.is_object()) return InvalidInput(where + ": expected an object");
  JsonReader reader(json, where);
  SettingRule rule;
  rule.path = reader.Text("path", kMostPath);
  if (!IsPath(rule.path)) {
    reader.Fail("path", "parts of lower-case letters, digits, '_' and '-', joined by dots");
  } else if (std::ranges::find(kTaken, FirstPart(rule.path)) != kTaken.end()) {
    reader.Fail("path", "another first part than what a sweep file has already");
  }
  const auto kind = std::ranges::find(kKinds, reader.Text("kind", 20));
  if (kind == kKinds.end()) {
    reader.Fail("kind", "boolean, integer, number, choice, text or integers");
    return reader.Finish();
  }
  rule.kind = static_cast<SettingKind>(kind - kKinds.begin());
  if (reader.Has("help")) rule.help = reader.Text("help", kMostHelp);
  ReadLimits(reader, rule);
  ReadChoices(reader, rule);
  const Json& otherwise = reader.Any("otherwise");
  NF_RETURN_IF_ERROR(reader.Finish());
  absl::StatusOr<SettingValue> value = SettingFromJson(otherwise);
  if (value.ok()) value = Accept(rule, *std::move(value));
  if (!value.ok()) return InvalidInput(where + ".otherwise: " + Message(value.status()));
  rule.otherwise = *std::move(value);
  return rule;
}

// No path twice or below another, and the settings of each section together: a sweep file has a
// section once.
absl::Status CheckOrder(const std::vector<SettingRule>& rules) {
  std::set<std::string, std::less<>> paths;
  std::set<std::string, std::less<>> sections;
  std::string_view before;
  for (const SettingRule& rule : rules) {
    const std::string_view path = rule.path;
    if (!paths.insert(rule.path).second) return InvalidInput("settings: two of " + rule.path);
    for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1)) {
      const std::string_view section = path.substr(0, dot + 1);
      if (before.starts_with(section)) continue;
      if (!sections.emplace(section).second) {
        return InvalidInput("settings: " + rule.path + " stands apart from others of its section");
      }
    }
    before = path;
  }
  for (const std::string& path : paths) {
    if (!sections.contains(path + ".")) continue;
    return InvalidInput("settings: " + path + " is a setting and a section");
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view Name(SettingKind kind) { return kKinds.at(static_cast<size_t>(kind)); }

Json ToJson(const SettingValue& value) {
  return std::visit([](const auto& v) { return Json(v); }, value);
}

absl::StatusOr<SettingValue> SettingFromJson(const Json& json) {
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

std::string SchemaToJson(const std::vector<SettingRule>& rules, bool with_help) {
  Json json = Json::array();
  for (const SettingRule& rule : rules) {
    Json& added = json.emplace_back(Json{
        {"path", rule.path}, {"kind", Name(rule.kind)}, {"otherwise", ToJson(rule.otherwise)}});
    if (with_help) added["help"] = rule.help;
    switch (rule.kind) {
      case SettingKind::kInt:
      case SettingKind::kNumber:
      case SettingKind::kIntList: added["least"] = rule.least; [[fallthrough]];
      case SettingKind::kText: added["most"] = rule.most; break;
      case SettingKind::kChoice: added["choices"] = rule.choices; break;
      case SettingKind::kBool: break;
    }
  }
  return json.dump();
}

absl::StatusOr<std::vector<SettingRule>> SchemaFromJson(std::string_view text) {
  if (text.size() > kMostSchemaBytes) {
    return InvalidInput("settings: expected at most 256 KiB");
  }
  NF_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_array() || json.size() > kMostSettings) {
    return InvalidInput("settings: expected a list of at most 1000");
  }
  std::vector<SettingRule> rules;
  for (size_t i = 0; i < json.size(); ++i) {
    NF_ASSIGN_OR_RETURN(SettingRule rule,
                        RuleFromJson(json[i], "settings[" + std::to_string(i) + "]"));
    rules.push_back(std::move(rule));
  }
  NF_RETURN_IF_ERROR(CheckOrder(rules));
  return rules;
}

}  // namespace noisefloor
