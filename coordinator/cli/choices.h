// Options and positionals that take one of a few names, for the parser, the help and completion.
#pragma once

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace noisefloor::cli {

// Goes into check(): marks an option as taking only these names. It refuses nothing by itself:
// WrongChoice does, once all is parsed, with a message that CLI11 cannot make.
CLI::Validator OneOf(const std::vector<std::string>& names);

// The names that OneOf (or CLI11's IsMember) gave the option; empty: it takes anything.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

// What an option takes, "DIR" or "HOST:PORT"; without the choices or the range, which CLI11
// appends.
std::string TypeName(const CLI::Option& option);

// "--output=xml: expected table or json" for the first wrong value that `app` or a command parsed
// below it was given; else empty.
std::string WrongChoice(const CLI::App& app);

// "table, json or csv"
std::string JoinChoices(const std::vector<std::string>& names);

}  // namespace noisefloor::cli
