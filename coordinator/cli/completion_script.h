// Completion for bash, made from the command tree, so that it cannot disagree with the help.
#pragma once

#include <string>

#include "CLI/App.hpp"

namespace noisefloor::cli {

// A script for `source`: commands and subcommands, the flags of the command typed so far, and what
// an option or a positional takes: its choices, or files or folders where its type is FILE, SWEEP
// or DIR. Names of commands and choices hold letters, digits and dashes only. Pure.
std::string BashCompletion(const CLI::App& root);

}  // namespace noisefloor::cli
