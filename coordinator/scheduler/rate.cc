#include "coordinator/scheduler/rate.h"

#include <algorithm>

namespace noisefloor::scheduler {

namespace {

int64_t MinuteOf(absl::Time time) { return absl::ToUnixSeconds(time) / 60; }

}  // namespace

void Rate::Begin(absl::Time now) {
  if (!began_) began_ = now;
}

void Rate::Note(absl::Time now) {
  const int64_t minute = MinuteOf(now);
  const int64_t passed = std::min(minute - minute_, kMinutes);
  for (int64_t i = 0; i < passed; ++i) counts_[static_cast<size_t>((minute - i) % kMinutes)] = 0;
  minute_ = std::max(minute_, minute);
  ++counts_[static_cast<size_t>(minute_ % kMinutes)];
}

double Rate::PerHour(absl::Time now) const {
  if (!began_) return 0;
  const int64_t minute = MinuteOf(now);
  uint32_t count = 0;
  for (int64_t i = 0; i < kMinutes; ++i) {
    const bool kept = minute_ - i > minute - kMinutes;
    if (kept && i <= minute_) count += counts_[static_cast<size_t>((minute_ - i) % kMinutes)];
  }
  const absl::Duration window =
      std::clamp(now - *began_, absl::Minutes(1), absl::Minutes(kMinutes));
  return count / absl::ToDoubleHours(window);
}

}  // namespace noisefloor::scheduler
