// The table of all settings of a Specification: path, kind, limits, one line of help. Everything
// that reads, writes, checks or documents a setting goes through it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor {

// The value of a setting, as a sweep file or an axis gives it.
using SettingValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

std::string ToText(const SettingValue& value);  // "0.05", "true", "[1, 2]"; shortest exact number

enum class FieldKind : uint8_t { kBool, kInt, kNumber, kChoice, kText, kIntList };

struct Field {
  std::string_view path;  // "train.optimizer.learning_rate"
  FieldKind kind;
  std::string_view help;                  // Its row in deploy/sweeps/README.md begins with it.
  double least = 0;                       // Limits of numbers and of each element of a list,
  double most = 0;                        // both inclusive.
  std::vector<std::string_view> choices;  // Of kChoice.
  SettingValue (*get)(const Specification&);
  void (*set)(Specification&, SettingValue);  // The value is of the field's kind and in limits.
};

// All fields, in the order of the documentation. Lives for ever.
std::span<const Field> AllFields();

// Null when there is none of that path.
const Field* FindField(std::string_view path);

// The known path, or beginning of one, that was most likely meant: with the last part of the wrong
// one somewhere else ("schedule", "train.learning_rate"), misspelt (Levenshtein distance), or as
// initials ("lr"). Empty when none is near. Lives for ever.
std::string_view NearestField(std::string_view path);

// The nearest of `known` to `wrong`, or empty when none is near.
std::string_view Nearest(std::string_view wrong, std::span<const std::string_view> known);

// Sets one field. An int is accepted where a number is expected. InvalidArgument says what was
// expected: "train.epochs: expected an integer from 0 to 100000, got -1".
absl::Status SetField(Specification& specification, std::string_view path, SettingValue value);

// What no single field can know: momentum without SGD, batch not divisible by shards, ... Each
// problem is (path, message). Empty when the specification can be trained.
struct FieldProblem {
  std::string path;
  std::string message;
};
std::vector<FieldProblem> CheckTogether(const Specification& specification);

}  // namespace noisefloor
