// Which files of attempts are on their way into a result: nobody may remove those.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/base/mutex.h"

namespace noisefloor {

// A file that has arrived is named by no row until its lease is settled: until then a pin of that
// lease keeps it. Thread-safe. Holds at most a few pins for each file of a live lease.
class BlobPins {
 public:
  // `is_live`: true until what became of the lease is on disk. Any thread; never blocks.
  explicit BlobPins(std::function<bool(LeaseId)> is_live) : is_live_(std::move(is_live)) {}

  // Before it is looked whether the content is there. Waits while Unless removes something.
  void Pin(const std::string& sha256, LeaseId lease) ABSL_LOCKS_EXCLUDED(mutex_);

  // Runs `remove` unless the content is pinned; nothing is pinned meanwhile. False: it is.
  bool Unless(const std::string& sha256, const std::function<void()>& remove)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool IsPinned(const std::string& sha256) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Sweep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::function<bool(LeaseId)> is_live_;
  Mutex mutex_;
  std::map<std::string, std::set<LeaseId>> pins_ ABSL_GUARDED_BY(mutex_);
  size_t sweep_at_ ABSL_GUARDED_BY(mutex_) = 1024;  // So many contents: look which are settled.
};

}  // namespace noisefloor
