// What hardly ever changes of a sweep, read and put into words once: however many watch it.
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
  static constexpr size_t kMost = 1024;

  // A summary, and how often its notes and tags were changed by then.
  struct Entry {
    v1::SweepSummary summary;
    uint32_t revision = 0;
  };
  // Of at least this revision, as far as `read` can see it. Made by `read` when it is not known;
  // without the lock. Errors are not kept.
  absl::StatusOr<v1::SweepSummary> Get(uint64_t sweep, uint32_t revision,
                                       const std::function<absl::StatusOr<Entry>()>& read)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<uint64_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::query
