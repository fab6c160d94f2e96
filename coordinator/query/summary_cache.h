// Counts of sweeps, kept until the sweep has changed: however many watch one, its members are
// counted once for each change.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "absl/status/statusor.h"

#include "common/base/mutex.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::query {

// Thread-safe. Holds the summaries of at most kMost sweeps.
class SummaryCache {
 public:
  static constexpr size_t kMost = 256;

  // The summary of `sweep` as of its event number `event`: whatever changes a sweep leaves an event
  // in the same transaction. Made by `read` when it is not known; without the lock.
  absl::StatusOr<v1::SweepSummary> Get(
      uint64_t sweep, int64_t event, const std::function<absl::StatusOr<v1::SweepSummary>()>& read)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    int64_t event = 0;
    v1::SweepSummary summary;
  };

  Mutex mutex_;
  std::map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::query
