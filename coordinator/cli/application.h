// The command line as a whole: the tree of commands, what is refused, exit codes.
#pragma once

#include <string>
#include <vector>

#include "coordinator/cli/command.h"

namespace noisefloor::cli {

// Parses (`arguments` without the program's name), runs one command, prints what went wrong.
// Returns the exit code.
int RunApplication(const std::vector<std::string>& arguments, Context& context);

// Unavailable and DeadlineExceeded: unreachable; Cancelled: stopped; everything else: refused.
int ExitCodeOf(const absl::Status& status);

}  // namespace noisefloor::cli
