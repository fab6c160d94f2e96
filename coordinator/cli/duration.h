// Times as people type them.
#pragma once

#include <cstdint>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor::cli {

// "30d", "12h", "90m", "45s" as seconds. InvalidArgument names the option.
absl::StatusOr<int64_t> SecondsOf(std::string_view option, std::string_view text);

}  // namespace noisefloor::cli
