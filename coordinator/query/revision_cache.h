// What hardly ever changes of a sweep, read and put into words once: however many ask for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

#include "common/base/mutex.h"

namespace noisefloor::query {

// Thread-safe. Holds what it knows of at most kMost sweeps.
template <typename T>
class RevisionCache {
 public:
  static constexpr size_t kMost = 1024;

  struct Known {
    // shared: with whoever is telling it, while a newer one takes its place. Never null.
    std::shared_ptr<const T> what;
    uint32_t revision = 0;  // Of it: who reads an older moment sees an older one.
  };
  // What was read, and how often the sweep's notes, tags and extent were changed by then.
  struct Entry {
    T what;
    uint32_t revision = 0;
  };

  // Of at least this revision, as far as `read` can see it. Made by `read` when it is not known;
  // without the lock. Errors are not kept.
  absl::StatusOr<Known> Get(uint64_t sweep, uint32_t revision,
                            const std::function<absl::StatusOr<Entry>()>& read)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(mutex_);
      const auto known = entries_.find(sweep);
      if (known != entries_.end() && known->second.revision >= revision) return known->second;
    }
    absl::StatusOr<Entry> made = read();
    if (!made.ok()) return made.status();
    const Known read_now = {std::make_shared<const T>(std::move(made->what)), made->revision};
    MutexLock lock(mutex_);
    if (entries_.size() >= kMost && !entries_.contains(sweep)) entries_.erase(entries_.begin());
    Known& entry = entries_[sweep];
    // Of two readers one may have seen less.
    if (entry.what == nullptr || read_now.revision >= entry.revision) entry = read_now;
    return read_now;
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, Known> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::query
