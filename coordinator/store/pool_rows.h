// The pools that are kept, as the coordinator needs them once, when it starts; and their texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "coordinator/fleet/pool.h"

namespace noisefloor {

struct KeptFleet {
  std::vector<fleet::PoolRecord> pools;  // Those that are there.
  // Of them: the live launches, and of each pool the last 20 that ended.
  std::vector<fleet::LaunchRecord> launches;
  std::map<uint64_t, absl::Duration> used;  // By all of its jobs that ended.
  uint64_t last_pool = 0;                   // Numbers are not used again.
  uint64_t last_launch = 0;
};

// The store of `home` is of this program's schema. Reads on a connection of its own. DataLoss: a
// row that makes no sense; the message names it.
absl::StatusOr<KeptFleet> ReadFleet(const std::string& home);

// JSON objects. Internal for what ToJson never writes.
std::string WishToJson(const fleet::PoolWish& wish);
absl::StatusOr<fleet::PoolWish> WishFromJson(std::string_view text);
std::string LearnedToJson(const fleet::PoolRecord& pool);  // "" while nothing is.
absl::Status LearnedFromJson(std::string_view text, fleet::PoolRecord& pool);

}  // namespace noisefloor
