// An environment has facts, which many attempts share, and what was measured in one of them.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

struct EnvironmentParts {
  std::string facts;     // JSON object.
  std::string measured;  // JSON object; "" = nothing was.
};

// `environment`: a JSON object. What stands under its key "measured" is the attempt's own; trainers
// of version 0.1 wrote "load_at_end" and "machine.load" beside it. InvalidArgument: no JSON object.
absl::StatusOr<EnvironmentParts> SplitEnvironment(std::string_view environment);

// Both in one object again. `facts` is as SplitEnvironment made it, or empty.
std::string JoinEnvironment(std::string_view facts, std::string_view measured);

}  // namespace noisefloor
