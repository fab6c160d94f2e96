// Time is an argument of the core; the edges get it from a Clock. Thread-safe.
#pragma once

#include "absl/time/time.h"

namespace noisefloor {

class Clock {
 public:
  virtual ~Clock() = default;
  // Wall time, for people and records. Never subtract two of them.
  virtual absl::Time Now() const = 0;
  // Steady time since an arbitrary start, for intervals and leases.
  virtual absl::Duration Steady() const = 0;
  // How long this machine has been suspended since it was started: steady time leaves that out.
  virtual absl::Duration Slept() const { return absl::ZeroDuration(); }
};

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override;
  absl::Duration Steady() const override;
  absl::Duration Slept() const override;
};

}  // namespace noisefloor
