// The end of a file that others may write to meanwhile.
#pragma once

#include <cstddef>
#include <string>

#include "common/base/status.h"

namespace noisefloor {

// At most the last `most_bytes` of a regular file. Waits for the disk alone: what else lies there,
// a pipe say, is FailedPrecondition. Other failures are those of FileError.
absl::StatusOr<std::string> ReadTail(const std::string& path, size_t most_bytes);

}  // namespace noisefloor
