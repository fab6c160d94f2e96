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
inline constexpr std::array<std::string_view, 2> kOwnStacks = {"torch-2.11-cu130",
                                                               "torch-2.7-cu126"};

// The rules of all fields: what our own trainers publish. Lives for ever.
const SettingsSchemaRef& OwnSchema();

// The settings that version 0.2 began with, when trainers of ours told nobody of them. Where an
// identity is kept or compared, "" stands for theirs, so that what was kept and told then is what
// it was. Lives for ever.
const SettingsSchemaRef& SettingsOf02();
std::string IdentityOf(const SettingsSchema& schema);
// Those that this program knows by their identity as IdentityOf gives it: ours and SettingsOf02().
// Null otherwise.
SettingsSchemaRef BuiltInSchema(std::string_view identity);
// Whether a trainer that has the settings `offered` trains what was written for `wanted`, both as
// IdentityOf gives them: the same, or ours and those of 0.2, which lack only what leaves a training
// as it was when it is not said.
bool Trains(std::string_view offered, std::string_view wanted);

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
