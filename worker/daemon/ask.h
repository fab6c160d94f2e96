// Runs programs that answer with one text on their output and end, several at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor {

struct Question {
  std::vector<std::string> arguments;  // [0] is the path of the program.
  std::map<std::string, std::string> environment;
};

struct AskOptions {
  size_t at_once = 4;
  absl::Duration silence = absl::Minutes(2);  // One that says nothing for so long is killed.
};

// The answers in the order of the questions; at most 1 MiB each. Of one that does not begin
// with '{' the last line: a script's own words may come before. An error says why there is none:
// the program cannot be started, failed, was silent. See spawn.h for the thread that may call this.
std::vector<absl::StatusOr<std::string>> Ask(const std::vector<Question>& questions,
                                             const AskOptions& options);

}  // namespace noisefloor
