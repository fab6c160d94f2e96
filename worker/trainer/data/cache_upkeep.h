// Making room in a folder of data sets (data_cache.h), beside processes that use it: whoever maps a
// set holds a shared lock on its file, and what is locked is not removed. A set that is opened at
// the moment in which it goes is read to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor::trainer {

// A data set of the cache.
struct CachedSet {
  std::string path;
  uint64_t bytes = 0;
  absl::Time last_use;
};

// All of the folder, those whose last use is the longest ago first. None when there is no folder;
// else the failure of the disk.
absl::StatusOr<std::vector<CachedSet>> ListCachedSets(const std::string& folder);

// Whether some process maps it now. Asked for a lock that nobody gets for long: a user that comes
// at that moment does without its own, and what it maps stays.
bool IsSetInUse(const std::string& path);

// False when a process uses it, or it cannot be removed. Fine when it has gone.
bool RemoveUnusedSet(const std::string& path);

// What leads to sets that are gone, and what writers that were killed left, for an hour or longer
// before `now`, the clock of the file system. What cannot be looked at or removed stays.
void RemoveCacheOrphans(const std::string& folder, absl::Time now);

}  // namespace noisefloor::trainer
