#include "coordinator/manifest/yaml.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace noisefloor {

namespace {

using Json = nlohmann::ordered_json;

// Words that YAML 1.1 takes for truth values or for nothing.
constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                    "off",  "null",  "y",   "n"};

bool IsPlain(std::string_view text) {
  if (text.empty() || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  const bool simple = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return simple && std::ranges::find(kWords, lower) == kWords.end();
}

// JSON's quotes are YAML's, too.
std::string Scalar(const Json& value) {
  const bool plain = value.is_string() && IsPlain(value.get<std::string>());
  return plain ? value.get<std::string>() : value.dump();
}

std::string Key(const std::string& name) { return Scalar(Json(name)); }

void Append(const Json& value, size_t depth, std::string& text);

// Behind "KEY:" or "-": on the same line what is short, else a block of its own.
void AppendValue(const Json& value, size_t depth, std::string& text) {
  if (!value.is_structured() || value.empty()) {
    text += " " + Scalar(value) + "\n";
  } else {
    text += "\n";
    Append(value, depth, text);
  }
}

void Append(const Json& value, size_t depth, std::string& text) {
  const std::string indent(2 * depth, ' ');
  if (value.is_object()) {
    for (const auto& [name, field] : value.items()) {
      text += indent + Key(name) + ":";
      AppendValue(field, depth + 1, text);
    }
    return;
  }
  for (const Json& item : value) {
    if (!item.is_object() || item.empty()) {
      text += indent + "-";
      AppendValue(item, depth + 1, text);
      continue;
    }
    // Its first field stands behind the dash.
    std::string block;
    Append(item, depth + 1, block);
    text += indent + "- " + block.substr(indent.size() + 2);
  }
}

}  // namespace

std::string ToYaml(const Json& value) {
  std::string text;
  Append(value, 0, text);
  return text;
}

}  // namespace noisefloor
