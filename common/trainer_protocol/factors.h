// The factors of a schedule: a list of numbers written as a text.
#pragma once

#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// "1 0.1 0.01" as numbers: decimal, not negative, at most 1e6, one space between two; none in "".
// Read to the nearest double. InvalidArgument names the first part that is no such number.
absl::StatusOr<std::vector<double>> ReadFactors(std::string_view text);

}  // namespace noisefloor
