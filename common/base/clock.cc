#include "common/base/clock.h"

#include <time.h>

#include <chrono>

#include "absl/time/clock.h"

namespace noisefloor {

namespace {

absl::Duration ReadClock(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return absl::DurationFromTimespec(now);
}

}  // namespace

absl::Time SystemClock::Now() const { return absl::Now(); }

absl::Duration SystemClock::Steady() const {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// In this order: what happens in between makes it less, never more.
absl::Duration SystemClock::Slept() const {
  const absl::Duration with_sleep = ReadClock(CLOCK_BOOTTIME);
  return with_sleep - ReadClock(CLOCK_MONOTONIC);
}

}  // namespace noisefloor
