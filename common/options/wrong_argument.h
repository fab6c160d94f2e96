// What a command line holds that no option of ours takes, in our words. For programs whose options
// CLI11 reads.
#pragma once

#include <string>

#include "CLI/App.hpp"

namespace noisefloor {

// "unknown option --outptu; did you mean --output?" or "unexpected argument x" for the first thing
// that `root` and the commands parsed below it left over; also where `error` is that something is
// missing: what is wrong may be the missing, misspelt. Else the parser's own words.
std::string UsageMessage(const CLI::App& root, const CLI::ParseError& error);

}  // namespace noisefloor
