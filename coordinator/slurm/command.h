// A program that answers: run, given its input, read to its end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor {

struct Command {
  std::vector<std::string> words;  // The program, looked for on the PATH below, and arguments.
  std::string input = {};          // Of its standard input.
  std::vector<std::string> environment;  // "NAME=value": all of it.
  absl::Duration deadline = absl::Seconds(15);
  size_t most_output = size_t{16} << 20;  // Bytes, of output and errors each.
};

struct CommandResult {
  int exit_code = 0;  // Or 128 + the signal that ended it.
  std::string out;
  std::string err;
};

// Waits for it. NotFound: there is no such program. DeadlineExceeded: it was killed, with all of
// its process group. ResourceExhausted: it said too much. Any thread of a program that ignores
// SIGPIPE: one that reads no input may have closed it.
absl::StatusOr<CommandResult> RunCommand(const Command& command);

}  // namespace noisefloor
