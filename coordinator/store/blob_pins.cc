#include "coordinator/store/blob_pins.h"

#include <algorithm>
#include <iterator>

namespace noisefloor {

bool BlobPins::Pin(const std::string& sha256, LeaseId lease) {
  MutexLock lock(mutex_);
  const auto pinned = pins_.find(sha256);
  if (pinned != pins_.end() && pinned->second.contains(lease)) return true;
  size_t& count = counts_[lease];
  if (count == kMostOfLease) return false;
  ++count;
  pins_[sha256].insert(lease);
  if (++pinned_ >= sweep_at_) Sweep();
  return true;
}

void BlobPins::Uncount(LeaseId lease) {
  --pinned_;
  const auto count = counts_.find(lease);
  if (--count->second == 0) counts_.erase(count);
}

std::shared_ptr<const void> BlobPins::HoldAll() {
  MutexLock lock(mutex_);
  return held_;
}

bool BlobPins::Unless(const std::string& sha256, const std::function<void()>& remove) {
  MutexLock lock(mutex_);
  if (held_.use_count() > 1 || IsPinned(sha256)) return false;
  remove();
  return true;
}

bool BlobPins::IsPinned(const std::string& sha256) {
  const auto found = pins_.find(sha256);
  if (found == pins_.end()) return false;
  DropSettled(found->second);
  if (!found->second.empty()) return true;
  pins_.erase(found);
  return false;
}

void BlobPins::DropSettled(std::set<LeaseId>& leases) {
  for (auto lease = leases.begin(); lease != leases.end();) {
    const bool live = is_live_(*lease);
    if (!live) Uncount(*lease);
    lease = live ? std::next(lease) : leases.erase(lease);
  }
}

// Each pin is looked at as often as one is added, on average.
void BlobPins::Sweep() {
  for (auto pinned = pins_.begin(); pinned != pins_.end();) {
    DropSettled(pinned->second);
    pinned = pinned->second.empty() ? pins_.erase(pinned) : std::next(pinned);
  }
  sweep_at_ = std::max<size_t>(1024, 2 * pinned_);
}

}  // namespace noisefloor
