// A JSON object as a flat list, for environments whose keys we do not fix.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace noisefloor::report {

// ("libtorch.version", "2.11.0") for each leaf, in order of the text's keys; lists of plain values
// are joined, items of others go by their "name", else by their place. Empty when `text` is no JSON
// object.
std::vector<std::pair<std::string, std::string>> FlattenObject(std::string_view text);

}  // namespace noisefloor::report
