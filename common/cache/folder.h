// A folder of this machine as a tree that could be brought elsewhere.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/cache/tree.h"

namespace noisefloor {

struct FolderFile {
  TreeFile file;      // Without its hash; its path is below the folder.
  std::string state;  // As StateOf says.
  absl::Time newest;  // When it last changed.
};

// All that a change of a file changes, without a look into it: number, size, mode and times.
std::string StateOf(const struct stat& about);

// All regular files below the folder, by path; what links lead to in their place. Fails for what
// cannot be looked at, and with InvalidArgument for more than kMostTreeFiles files.
absl::StatusOr<std::vector<FolderFile>> ListFolder(const std::string& folder);

}  // namespace noisefloor
