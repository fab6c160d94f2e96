#include "worker/slots/lease_keeper.h"

#include <algorithm>

namespace noisefloor::slots {

void LeaseKeeper::RenewAll(absl::Duration now) {
  for (auto& [lease, renewed] : renewed_) renewed = now;
}

std::vector<LeaseId> LeaseKeeper::Expired(absl::Duration now) const {
  std::vector<LeaseId> expired;
  for (const auto& [lease, renewed] : renewed_) {
    if (now - renewed >= ttl_) expired.push_back(lease);
  }
  return expired;
}

absl::Duration LeaseKeeper::NextExpiry() const {
  absl::Duration next = absl::InfiniteDuration();
  for (const auto& [lease, renewed] : renewed_) next = std::min(next, renewed + ttl_);
  return next;
}

}  // namespace noisefloor::slots
