// How a failed call of the operating system on a file becomes a status.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// "PATH: cannot ACTION: WHAT THE SYSTEM SAYS". NotFound for a missing file, PermissionDenied,
// ResourceExhausted for a full disk or too many open files, Unavailable for the rest.
absl::Status FileError(const std::string& path, std::string_view action, int error_number);

}  // namespace noisefloor
