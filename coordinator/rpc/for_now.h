// Refusals of what may have been right when it was first asked for: workers have left, weights were
// collected. A request that is repeated gets what it came to then instead.
#pragma once

#include "common/base/status.h"

namespace noisefloor {

inline constexpr char kRefusedForNow[] = "noisefloor/refused_for_now";  // Never told to a caller.

inline absl::Status RefuseForNow(absl::Status refusal) {
  refusal.SetPayload(kRefusedForNow, absl::Cord());
  return refusal;
}

inline bool IsRefusedForNow(const absl::Status& status) {
  return status.GetPayload(kRefusedForNow).has_value();
}

}  // namespace noisefloor
