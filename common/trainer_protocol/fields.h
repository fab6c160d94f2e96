// The table of all settings of a Specification: path, kind, limits, one line of help. What our own
// trainers publish is made from it; everything that reads or writes one goes through it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/trainer_protocol/schema.h"
#include "common/trainer_protocol/specification.h"

namespace noisefloor {

// One setting and its place in a Specification.
struct Field {
  SettingRule rule;  // Its help begins its row in deploy/sweeps/README.md.
  SettingValue (*get)(const Specification&);
  void (*set)(Specification&, SettingValue);  // The value is one that the rule accepts.
};

// All fields, in the order of the documentation. Lives for ever.
std::span<const Field> AllFields();

// Null when there is none of that path.
const Field* FindField(std::string_view path);

// The stacks that we ship: what a sweep that names one of them, or none, is checked against needs
// no worker to tell of it.
inline constexpr std::array<std::string_view, 1> kOwnStacks = {"torch-2.11-cu130"};

// The rules of all fields: what our own trainers publish. Lives for ever.
const SettingsSchemaRef& OwnSchema();

// Identity of the settings of version 0.2, which told nobody of them. Where an identity is kept or
// compared, "" stands for it, so that what that version kept and tells is what it was.
inline constexpr std::string_view kSettingsOf02 =
    "c9a5997c5fc7541351833950b847aa27912afe5eeabf114d2d62a06235b237f6";
std::string IdentityOf(const SettingsSchema& schema);

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
