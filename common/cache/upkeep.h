// What lies in the cache folder of a machine, and making room in it beside processes that use it:
// data sets as trainers map them (worker/trainer/data/data_cache.h), and trees that were brought
// here (tree_cache.h). Whoever uses one holds a shared lock on its file or folder, and what is
// locked is not removed. What is opened at the moment in which it goes is noticed by its user.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"

namespace noisefloor {

inline constexpr std::string_view kCacheData = ".data";      // A set: after its identity.
inline constexpr std::string_view kCacheSource = ".source";  // After the key of a folder's state.
// After the same key, while somebody reads the folder for the first time; locked by who does.
inline constexpr std::string_view kCacheReading = ".reading";
inline constexpr std::string_view kCacheStack = ".stack";  // The same, of a stack that was copied.
inline constexpr std::string_view kCacheTrees = "trees";   // The folder that holds all trees.

// The last change of a file's content or of anything else about it.
absl::Time NewestTime(const struct stat& about);

// Either of the two; of a tree also what has come of it so far.
struct Cached {
  std::string path;
  uint64_t bytes = 0;
  absl::Time last_use;
  bool is_tree = false;
};

// All of the folder, those whose last use is the longest ago first. None when there is no folder;
// else the failure of the disk.
absl::StatusOr<std::vector<Cached>> ListCached(const std::string& folder);

// Whether some process uses it now. Asked for a lock that nobody gets for long: a user that comes
// at that moment does without its own, and what it maps stays.
bool IsInUse(const std::string& path);

// False when a process uses it, or it cannot be removed. Fine when it has gone.
bool RemoveUnused(const std::string& path);

// Removes what nobody uses, the longest unused first, until what is left, and `more_bytes` that are
// to come, are within the limit, or all else is in use; `kept` stays. Never fails: what cannot be
// looked at or removed stays.
void MakeRoom(const std::string& folder, uint64_t limit_bytes, uint64_t more_bytes,
              const std::string& kept);

// What leads to sets and trees that are gone, and what writers and readers that were killed left,
// for an hour or longer before `now`, the clock of the file system. What cannot be looked at or
// removed stays.
void RemoveCacheOrphans(const std::string& folder, absl::Time now);

}  // namespace noisefloor
