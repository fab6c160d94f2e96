#include "coordinator/sweep_file/yaml_scalar.h"

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/nearest.h"

namespace noisefloor::sweep_file {

namespace {

using Kind = YamlNode::Kind;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view WithoutPlus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

// Leading zeros are refused: 010 is eight in one dialect and ten in another.
bool HasLeadingZero(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && IsDigit(text[1]);
}

template <typename Number>
std::optional<Number> ParseWhole(const YamlNode& node) {
  if (node.kind != Kind::kPlain) return std::nullopt;
  const std::string_view text = WithoutPlus(node.text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || HasLeadingZero(text)) return std::nullopt;
  return value;
}

std::optional<SettingValue> AsIntList(const YamlNode& node) {
  if (const auto one = AsInteger(node)) return std::vector<int64_t>{*one};
  if (node.kind != Kind::kList) return std::nullopt;
  std::vector<int64_t> values;
  for (const YamlNode& item : node.items) {
    const auto value = AsInteger(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<SettingValue> Read(SettingKind kind, const YamlNode& node) {
  switch (kind) {
    case SettingKind::kBool:
      if (node.kind != Kind::kPlain) return std::nullopt;
      if (node.text == "true") return true;
      if (node.text == "false") return false;
      return std::nullopt;
    case SettingKind::kInt:
      if (const auto value = AsInteger(node)) return *value;
      return std::nullopt;
    case SettingKind::kNumber:
      if (const auto value = AsNumber(node)) return *value;
      return std::nullopt;
    case SettingKind::kChoice:
    case SettingKind::kText:
      if (node.IsScalar()) return node.text;
      return std::nullopt;
    case SettingKind::kIntList: return AsIntList(node);
  }
  return std::nullopt;
}

// A value that the rule never accepts, to hear from it what it does accept.
SettingValue NeverAccepted(SettingKind kind) {
  if (kind == SettingKind::kBool) return std::string("?");
  return true;
}

// "expected true or false" out of "model.batch_norm: expected true or false, got ?".
std::string ExpectedPart(const SettingRule& rule, const absl::Status& status) {
  std::string text = Message(status);
  const std::string prefix = rule.path + ": ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  if (const size_t got = text.rfind(", got "); got != std::string::npos) text.erase(got);
  return text;
}

// Says it when the value would be a number for another program.
std::string DialectHint(const YamlNode& node) {
  if (node.kind != Kind::kPlain) return "";
  const std::string_view text = node.text;
  const bool number_like = !text.empty() && (IsDigit(text[0]) || text.starts_with("-"));
  if (!number_like) return "";
  if (text.find_first_of("xXoO_") != std::string_view::npos || HasLeadingZero(text)) {
    return "; numbers are plain decimal";
  }
  const size_t comma = text.find(',');
  const bool digits = text.find_first_not_of("-0123456789,") == std::string_view::npos;
  if (digits && comma != std::string_view::npos && text.find(',', comma + 1) == text.npos) {
    return "; a decimal number has a point: " + std::string(text.substr(0, comma)) + "." +
           std::string(text.substr(comma + 1));
  }
  return "";
}

std::string ChoiceHint(const SettingRule& rule, const YamlNode& node) {
  if (rule.kind != SettingKind::kChoice || !node.IsScalar()) return "";
  const std::vector<std::string_view> choices(rule.choices.begin(), rule.choices.end());
  const std::string_view nearest = Nearest(node.text, choices);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

}  // namespace

std::optional<int64_t> AsInteger(const YamlNode& node) { return ParseWhole<int64_t>(node); }
std::optional<uint64_t> AsUnsigned(const YamlNode& node) { return ParseWhole<uint64_t>(node); }

std::optional<double> AsNumber(const YamlNode& node) {
  if (node.kind != Kind::kPlain) return std::nullopt;
  const std::string_view text = WithoutPlus(node.text);
  const bool decimal = text.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  if (!decimal || HasLeadingZero(text)) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value == 0 ? 0 : value;  // No -0: it is the same number.
}

absl::StatusOr<SettingValue> AsSetting(const SettingRule& rule, const YamlNode& node) {
  const auto value = Read(rule.kind, node);
  absl::StatusOr<SettingValue> taken = Accept(rule, value ? *value : NeverAccepted(rule.kind));
  if (value && taken.ok()) return taken;
  return InvalidInput(ExpectedPart(rule, taken.status()) + ", got " + Found(node) +
                      DialectHint(node) + ChoiceHint(rule, node));
}

}  // namespace noisefloor::sweep_file
