// A value as YAML that every reader of YAML 1.1 and 1.2 takes for the same.
#pragma once

#include <string>

#include "nlohmann/json.hpp"

namespace noisefloor {

// A block for each object and list, fields in their order; a text is in quotes unless no reader can
// take it for anything else. Texts are UTF-8 without control characters. No numbers with a
// fraction: there are none in what we print.
std::string ToYaml(const nlohmann::ordered_json& value);

}  // namespace noisefloor
