// The right of a worker to train a member, while it lasts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"

#include "common/base/ids.h"

namespace noisefloor::scheduler {

struct Lease {
  LeaseId id;
  MemberId member;
  uint32_t attempt = 0;
  WorkerId worker;
  // shared: with copies of the state, and it never changes.
  std::shared_ptr<const std::string> specification;
  uint64_t sequence = 0;
  std::optional<uint32_t> slot;  // Nothing: granted before leases named one.
  std::string unit;
  absl::Time granted;
  uint32_t gpus = 0;       // Of its slot; see gpu_use.h.
  absl::Time expires;      // From here on soft.
  bool confirmed = false;  // The worker has named it.
  bool restored = false;   // Granted before the coordinator began.
  bool write_evaluation_set = false;
  uint32_t incomplete_ends = 0;
  int64_t step = 0;
  int64_t step_count = 0;
};

}  // namespace noisefloor::scheduler
