#include "common/trainer_protocol/schema.h"

#include <algorithm>
#include <cmath>

#include "common/base/nearest.h"
#include "common/files/sha256.h"
#include "common/trainer_protocol/schema_json.h"

namespace noisefloor {

namespace {

// Limits as a person writes them: 100000, not 1e+05.
std::string LimitText(double limit) {
  const bool whole = std::trunc(limit) == limit && std::abs(limit) < 1e15;
  return whole ? std::to_string(static_cast<int64_t>(limit)) : ToText(SettingValue(limit));
}

std::string Range(const SettingRule& rule) {
  return " from " + LimitText(rule.least) + " to " + LimitText(rule.most);
}

bool InLimits(const SettingRule& rule, double value) {
  return std::isfinite(value) && value >= rule.least && value <= rule.most;
}

// Languages without integers of their own say 2.0 for 2.
constexpr double kMostWhole = 1LL << 53;  // From there on not every integer has a number.

// Turns an int into a number, a whole number into an int and a single value into a list where the
// rule asks for it.
void Adapt(const SettingRule& rule, SettingValue& value) {
  const bool wants_whole = rule.kind == SettingKind::kInt || rule.kind == SettingKind::kIntList;
  if (const auto* number = std::get_if<double>(&value); number != nullptr && wants_whole) {
    const bool whole = std::abs(*number) < kMostWhole && std::trunc(*number) == *number;
    if (whole) value = static_cast<int64_t>(*number);
  }
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    if (rule.kind == SettingKind::kNumber)
      value = static_cast<double>(*whole);
    else if (rule.kind == SettingKind::kIntList)
      value = std::vector<int64_t>{*whole};
  }
}

bool Accepts(const SettingRule& rule, const SettingValue& value) {
  switch (rule.kind) {
    case SettingKind::kBool: return std::holds_alternative<bool>(value);
    case SettingKind::kInt: {
      const auto* whole = std::get_if<int64_t>(&value);
      return whole && InLimits(rule, static_cast<double>(*whole));
    }
    case SettingKind::kNumber: {
      const auto* number = std::get_if<double>(&value);
      return number && InLimits(rule, *number);
    }
    case SettingKind::kText: {
      const auto* text = std::get_if<std::string>(&value);
      return text && text->size() <= static_cast<size_t>(rule.most);
    }
    case SettingKind::kChoice: {
      const auto* text = std::get_if<std::string>(&value);
      return text && std::ranges::find(rule.choices, *text) != rule.choices.end();
    }
    case SettingKind::kIntList: {
      const auto* list = std::get_if<std::vector<int64_t>>(&value);
      return list && list->size() <= 1000 && std::ranges::all_of(*list, [&](int64_t element) {
               return InLimits(rule, static_cast<double>(element));
             });
    }
  }
  return false;
}

std::string_view LastPart(std::string_view path) { return path.substr(path.rfind('.') + 1); }

bool IsBelow(std::string_view path, std::string_view group) {
  return path.size() > group.size() && path.starts_with(group) && path[group.size()] == '.';
}

// "lr" of "learning_rate".
bool IsInitials(std::string_view wrong, std::string_view name) {
  std::string initials;
  for (size_t i = 0; i < name.size(); ++i) {
    if (i == 0 || name[i - 1] == '_') initials += name[i];
  }
  return initials.size() > 1 && wrong == initials;
}

// How far `wrong` is from `name`; more than `most` when that is plain from their lengths.
size_t SlipOf(std::string_view wrong, std::string_view name, size_t most) {
  if (IsInitials(wrong, name)) return 1;
  const auto [less, more] = std::minmax({wrong.size(), name.size()});
  return more - less > most ? most + 1 : EditDistance(wrong, name);
}

}  // namespace

std::string ExpectedOf(const SettingRule& rule) {
  switch (rule.kind) {
    case SettingKind::kBool: return "true or false";
    case SettingKind::kInt: return "an integer" + Range(rule);
    case SettingKind::kNumber: return "a number" + Range(rule);
    case SettingKind::kText: return "a text of at most " + LimitText(rule.most) + " characters";
    case SettingKind::kIntList: return "a list of integers" + Range(rule);
    case SettingKind::kChoice: {
      std::string text = "one of";
      for (size_t i = 0; i < rule.choices.size(); ++i) {
        text.append(i == 0 ? " " : ", ").append(rule.choices[i]);
      }
      return text;
    }
  }
  return "corrupt";
}

absl::StatusOr<SettingValue> Accept(const SettingRule& rule, SettingValue value) {
  const std::string got = ToText(value);
  Adapt(rule, value);
  if (Accepts(rule, value)) return value;
  return InvalidInput(rule.path + ": expected " + ExpectedOf(rule) + ", got " +
                      (got.empty() ? "an empty text" : got));
}

SettingsSchema::SettingsSchema(std::vector<SettingRule> rules)
    : rules_(std::move(rules)), identity_(Sha256Hex(SchemaToJson(rules_, /*with_help=*/false))) {}

absl::StatusOr<SettingsSchema> SettingsSchema::FromJson(std::string_view text) {
  NF_ASSIGN_OR_RETURN(std::vector<SettingRule> rules, SchemaFromJson(text));
  return SettingsSchema(std::move(rules));
}

std::string SettingsSchema::ToJson() const { return SchemaToJson(rules_, /*with_help=*/true); }

const SettingRule* SettingsSchema::Find(std::string_view path) const {
  const auto found = std::ranges::find(rules_, path, &SettingRule::path);
  return found == rules_.end() ? nullptr : &*found;
}

bool SettingsSchema::HasSection(std::string_view path) const {
  return std::ranges::any_of(rules_,
                             [&](const SettingRule& rule) { return IsBelow(rule.path, path); });
}

std::string_view SettingsSchema::Nearest(std::string_view path) const {
  if (path.size() > kMostCompared) return {};
  const std::string_view wrong = LastPart(path);
  const size_t most = std::clamp<size_t>(wrong.size() / 2, 2, 6);
  std::string_view best;
  std::pair<size_t, size_t> least(most + 1, 0);
  for (const SettingRule& rule : rules_) {
    for (size_t end = 0; end != std::string_view::npos;) {
      end = rule.path.find('.', end + 1);
      const std::string_view known = std::string_view(rule.path).substr(0, end);
      if (IsBelow(path, known)) continue;
      const size_t slip = std::min(SlipOf(wrong, LastPart(known), most), SlipOf(path, known, most));
      if (slip > least.first) continue;
      const std::pair distance(slip, EditDistance(path, known));
      if (distance >= least) continue;
      least = distance;
      best = known;
    }
  }
  return best;
}

absl::StatusOr<SettingValue> SettingsSchema::Take(std::string_view path, SettingValue value) const {
  if (const SettingRule* rule = Find(path)) return Accept(*rule, std::move(value));
  std::string message = "unknown key " + std::string(path);
  if (const auto nearest = Nearest(path); !nearest.empty()) {
    message.append("; did you mean ").append(nearest).append("?");
  }
  return InvalidInput(message);
}

Settings SettingsSchema::Defaults() const {
  Settings settings;
  settings.reserve(rules_.size());
  for (const SettingRule& rule : rules_) settings.emplace_back(rule.path, rule.otherwise);
  return settings;
}

}  // namespace noisefloor
