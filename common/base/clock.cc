#include "common/base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace noisefloor {

absl::Time SystemClock::Now() const { return absl::Now(); }

absl::Duration SystemClock::Steady() const {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace noisefloor
