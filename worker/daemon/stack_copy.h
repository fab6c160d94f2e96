// Stacks that lie on a shared file system, copied to the machine's cache once for all its workers:
// LibTorch is half a gigabyte, and a thousand machines load it at the same time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "common/cache/tree_cache.h"

namespace noisefloor {

// The copy of a folder, which stays while what is returned lives: the same files below the same
// names, with what links lead to in their place. What is copied is known by its content, so that
// equal folders are one copy; which content a folder has is remembered for as long as nothing
// of it changes (by number, size and times of its files), else all of it is read. Goes on where it
// broke off, and waits while another worker of this machine copies it. Fails as TreeCache::Bring
// does. `now`: wall time.
absl::StatusOr<TreeUse> CopyStack(const std::string& folder, const TreeCache& cache, absl::Time now,
                                  const TreeWatch& watch = {});

// Programs that somebody else has put into a cache are not run.
bool IsOurs(const std::string& path);
absl::Status NotOurs(const TreeUse& use);

// The commands with those programs that lie below `folder` replaced by the same ones below `copy`.
// Looks where links lead.
using Commands = std::multimap<std::string, std::vector<std::string>>;
Commands FromCopy(Commands commands, const std::string& folder, const std::string& copy);

}  // namespace noisefloor
