#include "coordinator/sweep/problems.h"

#include <algorithm>

#include "common/base/names.h"
#include "common/base/nearest.h"

namespace noisefloor::sweep {

namespace {

constexpr size_t kMostProblems = 100;
constexpr size_t kMostQuoted = 60;

bool IsControlCharacter(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string Quoted(std::string_view text) {
  if (text.empty()) return "an empty text";
  std::string quoted(text.substr(0, kMostQuoted));
  std::ranges::replace_if(quoted, IsControlCharacter, '?');
  return "\"" + quoted + (text.size() > kMostQuoted ? "...\"" : "\"");
}

void Problems::Add(std::string field, std::string message) {
  if (list_.size() >= kMostProblems || !told_.emplace(field, message).second) return;
  list_.push_back({std::move(field), std::move(message)});
}

bool Problems::CheckName(const std::string& field, std::string_view name) {
  if (IsName(name)) return true;
  Add(field, "expected " + std::string(kNameRule) + ", got " + Quoted(name));
  return false;
}

bool Problems::CheckLabel(const std::string& field, std::string_view label, size_t most) {
  if (!label.empty() && label.size() <= most && std::ranges::none_of(label, IsControlCharacter))
    return true;
  Add(field,
      "expected one line of 1 to " + std::to_string(most) + " characters, got " + Quoted(label));
  return false;
}

bool Problems::CheckCount(const std::string& field, uint32_t count, size_t most) {
  if (count >= 1 && count <= most) return true;
  Add(field,
      "expected an integer from 1 to " + std::to_string(most) + ", got " + std::to_string(count));
  return false;
}

void Problems::CheckDistinct(const std::string& field, const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second) {
      Add(field + "[" + std::to_string(i) + "]", Quoted(names[i]) + " is given twice");
    }
  }
}

std::string DidYouMean(std::string_view wrong, std::span<const std::string_view> known) {
  const std::string_view nearest = Nearest(wrong, known);
  return nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?";
}

std::optional<SettingValue> TryTake(const SettingsSchema& schema, const Setting& setting,
                                    const std::string& field, Problems& problems) {
  absl::StatusOr<SettingValue> taken = schema.Take(setting.first, setting.second);
  if (taken.ok()) return *std::move(taken);
  std::string message = Message(taken.status());
  const std::string prefix = setting.first + ": ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  problems.Add(field, std::move(message));
  return std::nullopt;
}

}  // namespace noisefloor::sweep
