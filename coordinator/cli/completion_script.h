// Completion for bash, made from the command tree, so that it cannot disagree with the help.
#pragma once

#include <string>

#include "CLI/App.hpp"

namespace noisefloor::cli {

// A script for `source`: commands and subcommands, the flags of the command typed so far, and
// files elsewhere. Names of commands hold letters and dashes only. Pure.
std::string BashCompletion(const CLI::App& root);

}  // namespace noisefloor::cli
