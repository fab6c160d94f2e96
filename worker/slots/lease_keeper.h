// Until when a worker may believe in its leases.
//
// The coordinator does not answer heartbeats, so a lease counts as renewed when a heartbeat that
// names it was handed to a live session, or when a session opened with it. A wrong belief is
// harmless, since reports carry the lease's fencing token; it only costs the time of a trainer.
// Pure; one thread.
#pragma once

#include <map>
#include <vector>

#include "absl/time/time.h"

#include "common/base/ids.h"

namespace noisefloor::slots {

class LeaseKeeper {
 public:
  void SetTtl(absl::Duration ttl) { ttl_ = ttl; }
  void Add(LeaseId lease, absl::Duration now) { renewed_[lease] = now; }
  void Remove(LeaseId lease) { renewed_.erase(lease); }
  void RenewAll(absl::Duration now);

  // Leases whose last renewal is at least the ttl ago, in order.
  std::vector<LeaseId> Expired(absl::Duration now) const;
  // When the first of them expires; infinite when there is none.
  absl::Duration NextExpiry() const;

 private:
  absl::Duration ttl_ = absl::InfiniteDuration();
  std::map<LeaseId, absl::Duration> renewed_;
};

}  // namespace noisefloor::slots
