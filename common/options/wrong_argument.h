// What a command line holds that no option of ours takes, in our words. For programs whose options
// CLI11 reads.
#pragma once

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace noisefloor {

// "unknown option --outptu; did you mean --output?" or "unexpected argument x" for the first thing
// that `root` and the commands parsed below it left over; also where `error` is that something is
// missing: what is wrong may be the missing, misspelt. Else the parser's own words.
std::string UsageMessage(const CLI::App& root, const CLI::ParseError& error);

// Up to a "--", each "--option=" as the option and an empty word: CLI11 takes the word behind an
// option without a value for its value. So is a word that is meant as the value of the one before
// it: that is written behind a "=".
std::vector<std::string> WithEmptyValues(const std::vector<std::string>& arguments);

// "--to: expected DIR, got nothing" for the first option that was given an empty value, of `root`
// and of the commands parsed below it, unless its type is TEXT; else empty.
std::string EmptyValue(const CLI::App& root);

}  // namespace noisefloor
