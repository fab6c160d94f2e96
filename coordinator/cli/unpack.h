// Unpacks a .tar.gz. The only file that meets libarchive.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace noisefloor::cli {

// Regular files and folders of `archive` below `folder`, which exists. Refused, before anything
// outside can be touched: absolute paths, "..", links, other kinds of entries, more than
// `limit_bytes` in all. DataLoss for an archive that is damaged or ends early; what was unpacked
// until then is left.
absl::Status Unpack(const std::string& archive, const std::string& folder, uint64_t limit_bytes);

}  // namespace noisefloor::cli
