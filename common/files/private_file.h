// Files that only their owner may read: keys and tokens.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// As WriteFileAtomically, with mode 0600 from its first byte on. On the machine's own file system.
absl::Status WritePrivateFile(const std::string& path, std::string_view bytes);

}  // namespace noisefloor
