// What workers of this machine keep on its disk besides results: data sets in the form that
// trainers map, and folders of attempts that nobody goes on with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/cli/command.h"

namespace noisefloor::cli {

// State directories of workers, and folders of data sets; each once, and only those that are there.
struct CachePlaces {
  std::vector<std::string> states;
  std::vector<std::string> caches;
};
// Those that are named; of states that are not, the one of the local worker and the one that
// noisefloor-worker takes in this folder. Every state has a cache, unless $NOISEFLOOR_CACHE says
// where else; both are looked at.
CachePlaces FindCachePlaces(const Context& context, const std::vector<std::string>& states,
                            const std::vector<std::string>& caches);

struct DiskShare {
  uint64_t count = 0;
  uint64_t bytes = 0;
  void Add(uint64_t of_bytes) { ++count, bytes += of_bytes; }
};

struct CachedUse {
  DiskShare old;     // Used by nobody, last before the time asked for.
  DiskShare young;   // Used since.
  DiskShare in_use;  // Now.
};

// What lies there.
struct CacheUse {
  CachedUse sets;   // Data sets as trainers map them.
  CachedUse trees;  // What was brought here from elsewhere, or a part of it.
  // Folders of attempts of workers that do not run: without a result, last written before that
  // time, or since; and with one, which waits for its worker to deliver it.
  DiskShare attempts_old;
  DiskShare attempts_young;
  DiskShare attempts_waiting;
};

// Beside workers and trainers that run: what they use stays. `remove`: the old ones go, unless a
// process took them meanwhile; what could not go counts as in use. Nothing is removed of a state
// whose worker runs. Fails as the disk does.
absl::StatusOr<CacheUse> LookAtCaches(const CachePlaces& places, absl::Time before, bool remove);

}  // namespace noisefloor::cli
