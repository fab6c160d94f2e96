#include "coordinator/query/summary_cache.h"

namespace noisefloor::query {

absl::StatusOr<v1::SweepSummary> SummaryCache::Get(
    uint64_t sweep, uint32_t revision, const std::function<absl::StatusOr<Entry>()>& read) {
  {
    MutexLock lock(mutex_);
    const auto known = entries_.find(sweep);
    if (known != entries_.end() && known->second.revision >= revision) return known->second.summary;
  }
  absl::StatusOr<Entry> made = read();
  if (!made.ok()) return made.status();
  MutexLock lock(mutex_);
  if (entries_.size() >= kMost && !entries_.contains(sweep)) entries_.erase(entries_.begin());
  Entry& entry = entries_[sweep];
  if (made->revision >= entry.revision) entry = *made;  // Of two readers one may have seen less.
  return made->summary;
}

}  // namespace noisefloor::query
