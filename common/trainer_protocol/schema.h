// The settings that a trainer has: what it publishes by --describe, and what a sweep for it is
// checked against. Described in worker/trainer/README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/setting.h"

namespace noisefloor {

enum class SettingKind : uint8_t { kBool, kInt, kNumber, kChoice, kText, kIntList };
std::string_view Name(SettingKind kind);  // "integer"

// What one setting may be.
struct SettingRule {
  std::string path;  // "train.optimizer.learning_rate"
  SettingKind kind = SettingKind::kBool;
  std::string help;                  // A line for people.
  double least = 0;                  // Limits of numbers and of each element of a list, of the
  double most = 0;                   // bytes of a text, both inclusive.
  std::vector<std::string> choices;  // Of kChoice.
  SettingValue otherwise = false;    // What a sweep gets that does not state it.
};

// What the rule accepts: "an integer from 0 to 100000".
std::string ExpectedOf(const SettingRule& rule);
// The value as the rule has it: an integer where a number is wanted becomes one, a single integer a
// list. InvalidArgument says what was expected: "train.epochs: expected an integer from 0 to
// 100000, got -1".
absl::StatusOr<SettingValue> Accept(const SettingRule& rule, SettingValue value);

// Immutable; any thread.
class SettingsSchema {
 public:
  // `rules` as FromJson wants them: those of our own table, which a test holds to it.
  explicit SettingsSchema(std::vector<SettingRule> rules);

  // Of the array that a trainer publishes as "settings". InvalidArgument says what is wrong with
  // it, by path: "settings[3].least: expected a number".
  static absl::StatusOr<SettingsSchema> FromJson(std::string_view text);
  // That array: what FromJson of it gives is equal.
  std::string ToJson() const;

  // In the order of the trainer's documentation; those of a section stand together.
  const std::vector<SettingRule>& rules() const { return rules_; }
  // Null when there is none of that path.
  const SettingRule* Find(std::string_view path) const;
  // Whether some setting's path begins with `path` and a dot.
  bool HasSection(std::string_view path) const;
  // The known path, or beginning of one, that was most likely meant: with the last part of the
  // wrong one somewhere else ("schedule", "train.learning_rate"), misspelt (Levenshtein distance),
  // or as initials ("lr"). Empty when none is near. Lives as long as the schema.
  std::string_view Nearest(std::string_view path) const;

  // Find and Accept. Of an unknown path it says which one is near.
  absl::StatusOr<SettingValue> Take(std::string_view path, SettingValue value) const;
  // Every setting at what a sweep gets that does not state it.
  Settings Defaults() const;

  // Hexadecimal SHA-256 of all but the words for people: equal for two schemas that accept the same
  // sweeps and fill them in alike.
  const std::string& identity() const { return identity_; }

 private:
  std::vector<SettingRule> rules_;
  std::string identity_;
};
// shared: immutable, and named by every worker, sweep and reader that has these settings.
using SettingsSchemaRef = std::shared_ptr<const SettingsSchema>;

// Limits of what is published.
inline constexpr size_t kMostSchemaBytes = 256 << 10;
inline constexpr size_t kMostSettings = 1000;

}  // namespace noisefloor
