#include "coordinator/rpc/watch_hub.h"

#include "fmt/format.h"

namespace noisefloor {

absl::Status WatchHub::Add(SweepId sweep, Watcher* watch) {
  MutexLock lock(mutex_);
  if (!stopping_.ok()) return stopping_;
  if (watches_.size() >= limit_) {
    return MakeError(absl::StatusCode::kResourceExhausted,
                     fmt::format("{} watches are open; no more are taken", limit_));
  }
  watches_.emplace(sweep, watch);
  return absl::OkStatus();
}

void WatchHub::Remove(SweepId sweep, Watcher* watch) {
  MutexLock lock(mutex_);
  const auto [first, last] = watches_.equal_range(sweep);
  for (auto it = first; it != last; ++it) {
    if (it->second != watch) continue;
    watches_.erase(it);
    return;
  }
}

void WatchHub::Changed(const std::set<SweepId>& sweeps) {
  MutexLock lock(mutex_);
  for (const SweepId sweep : sweeps) {
    const auto [first, last] = watches_.equal_range(sweep);
    for (auto it = first; it != last; ++it) it->second->Wake();
  }
}

void WatchHub::AllChanged() {
  MutexLock lock(mutex_);
  for (const auto& [sweep, watch] : watches_) watch->Wake();
}

void WatchHub::CloseAll(const absl::Status& why) {
  MutexLock lock(mutex_);
  stopping_ = why;
  for (const auto& [sweep, watch] : watches_) watch->Close(why);
}

}  // namespace noisefloor
