// The trainers that this worker may run: its allow-list.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// The trainer that is built into the daemon, for load tests: no process, no files.
inline constexpr std::string_view kNoopStack = "noop";

struct Stack {
  std::string program;  // Empty: the built-in one.
  std::string build;
  std::string fingerprint;
};
using Stacks = std::map<std::string, Stack, std::less<>>;  // By name.

// What `PROGRAM --describe` says: one line, {"protocol", "stack", "build", "environment",
// "fingerprint"}. Pure. `Stack::program` stays empty.
struct Description {
  std::string name;
  Stack stack;
};
absl::StatusOr<Description> ParseDescription(std::string_view line);

// Runs every program of `wanted` (stack name to path; the name may be empty: whatever the program
// says) with --describe. Refuses one that fails, is silent for a minute, or says another name.
absl::StatusOr<Stacks> FindStacks(const std::multimap<std::string, std::string>& wanted);

}  // namespace noisefloor
