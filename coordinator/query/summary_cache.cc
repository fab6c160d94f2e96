#include "coordinator/query/summary_cache.h"

namespace noisefloor::query {

absl::StatusOr<v1::SweepSummary> SummaryCache::Get(
    uint64_t sweep, const std::function<absl::StatusOr<v1::SweepSummary>()>& read) {
  {
    MutexLock lock(mutex_);
    const auto known = entries_.find(sweep);
    if (known != entries_.end()) return known->second;
  }
  absl::StatusOr<v1::SweepSummary> summary = read();
  if (!summary.ok()) return summary;
  MutexLock lock(mutex_);
  if (entries_.size() >= kMost && !entries_.contains(sweep)) entries_.erase(entries_.begin());
  entries_[sweep] = *summary;
  return summary;
}

}  // namespace noisefloor::query
