// The trainers that this worker may run: its allow-list.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/inventory.h"
#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "common/trainer_protocol/schema.h"

namespace noisefloor {

// The trainer that is built into the daemon, for load tests: no process, no files.
inline constexpr std::string_view kNoopStack = "noop";

struct Stack {
  std::vector<std::string> command;  // [0] is a path. None: the built-in one.
  std::string build;
  std::string fingerprint;
  SettingsSchemaRef schema;   // Of its settings; null: of version 0.2. shared: immutable.
  bool serves_forks = false;  // PROGRAM --serve-forks works: worker/daemon/fork_server.h.
  Versions versions = {};     // Of its libraries: what `fingerprint` was taken of.
  bool infers = false;        // A request may have "weights".
};
using Stacks = std::map<std::string, Stack, std::less<>>;  // By name.

// What `PROGRAM --describe` says: one line, {"protocol", "stack", "build", "environment",
// "fingerprint", "probes"}, of one that publishes its settings "settings" (schema.h) and, of a
// trainer that serves forks, the version of their protocol as
// "serves_forks"; one that this worker does not speak is as if it were not there. Pure.
// "infers" likewise: the version of "weights" in a request that it understands.
// Of "environment" its "versions" are read, where it has them, as VersionsFrom does.
// `Stack::command` stays empty.
struct Description {
  std::string name;
  Stack stack;
};
absl::StatusOr<Description> ParseDescription(std::string_view line);

// Those of an object's entries that are texts, numbers or booleans, as texts; the first 32, and 200
// bytes of each at most. Of anything else none. Pure.
Versions VersionsFrom(const Json& object);

// Runs every command of `wanted` (stack name to words; the name may be empty: whatever the program
// says) with --describe. Refuses one that fails, is silent for long, or says another name; but one
// without a name, ours, is left out with a warning where there are others. A program that is named
// without a folder is looked for in $PATH.
absl::StatusOr<Stacks> FindStacks(
    const std::multimap<std::string, std::vector<std::string>>& wanted);

}  // namespace noisefloor
