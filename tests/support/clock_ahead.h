// The machine's clock, which a test can move on.
#pragma once

#include <atomic>

#include "common/base/clock.h"

namespace noisefloor {

// Any thread.
class ClockAhead final : public Clock {
 public:
  absl::Time Now() const override { return clock_.Now() + ahead(); }
  absl::Duration Steady() const override { return clock_.Steady() + ahead(); }
  void Advance(absl::Duration by) { ahead_s_ += absl::ToInt64Seconds(by); }
  absl::Duration ahead() const { return absl::Seconds(ahead_s_.load()); }

 private:
  const SystemClock clock_;
  std::atomic<int64_t> ahead_s_ = 0;
};

}  // namespace noisefloor
