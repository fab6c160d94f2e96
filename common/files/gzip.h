// Files that may be compressed.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace noisefloor {

// The whole content: unpacked when the file begins with gzip's magic number, as it is otherwise.
// OutOfRange when the content is larger than `limit_bytes`; InvalidArgument when the
// compressed file ends early, is damaged or is followed by other bytes.
absl::StatusOr<std::string> ReadPlainOrGzip(const std::string& path, uint64_t limit_bytes);

}  // namespace noisefloor
