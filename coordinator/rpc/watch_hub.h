// Who watches which sweep, and waking them when it changed.
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace noisefloor {

// One who watches. Called under the hub's lock: must not call the hub, nor block.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // There may be something new.
  virtual void Wake() = 0;
  virtual void Close(const absl::Status& why) = 0;
};

// Thread-safe. Borrows the watches: each leaves in its OnDone before it dies. Lock order: hub, then
// watch.
class WatchHub {
 public:
  explicit WatchHub(size_t limit) : limit_(limit) {}

  // ResourceExhausted when too many watch, Unavailable when the coordinator stops: the watch is not
  // kept then.
  absl::Status Add(SweepId sweep, Watcher* watch) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(SweepId sweep, Watcher* watch) ABSL_LOCKS_EXCLUDED(mutex_);

  // Something of these sweeps is on disk that was not.
  void Changed(const std::set<SweepId>& sweeps) ABSL_LOCKS_EXCLUDED(mutex_);
  // Something that every watch tells is another now.
  void AllChanged() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends every watch, and from now on each new one.
  void CloseAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const size_t limit_;
  Mutex mutex_;
  std::multimap<SweepId, Watcher*> watches_ ABSL_GUARDED_BY(mutex_);
  absl::Status stopping_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor
