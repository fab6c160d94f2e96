#include "coordinator/store/blob_pins.h"

#include <algorithm>

namespace noisefloor {

void BlobPins::Pin(const std::string& sha256, LeaseId lease) {
  MutexLock lock(mutex_);
  pins_[sha256].insert(lease);
  if (pins_.size() >= sweep_at_) Sweep();
}

bool BlobPins::Unless(const std::string& sha256, const std::function<void()>& remove) {
  MutexLock lock(mutex_);
  if (IsPinned(sha256)) return false;
  remove();
  return true;
}

bool BlobPins::IsPinned(const std::string& sha256) {
  const auto found = pins_.find(sha256);
  if (found == pins_.end()) return false;
  std::erase_if(found->second, [this](LeaseId lease) { return !is_live_(lease); });
  if (!found->second.empty()) return true;
  pins_.erase(found);
  return false;
}

// Each content is looked at as often as one is added, on average.
void BlobPins::Sweep() {
  std::erase_if(pins_, [this](const auto& pinned) {
    return std::ranges::none_of(pinned.second, [this](LeaseId lease) { return is_live_(lease); });
  });
  sweep_at_ = std::max<size_t>(1024, 2 * pins_.size());
}

}  // namespace noisefloor
