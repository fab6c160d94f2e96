// Where a text that is no YAML went wrong, as a person would say it: the parser names the place
// where it gave up, which is often the end of the file. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "coordinator/sweep_file/yaml_tree.h"

namespace noisefloor::sweep_file {

// A quote or bracket that is never closed, one that closes another, a line without its colon;
// nothing when it is none of these.
std::optional<Mistake> WhyNotYaml(std::string_view text);

}  // namespace noisefloor::sweep_file
