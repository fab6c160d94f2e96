// How long to wait before trying again: doubles from `first` to `most`, each wait drawn from its
// upper half, so that many workers do not come back at the same moment. Not thread-safe.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace noisefloor {

struct BackoffSettings {
  absl::Duration first = absl::Milliseconds(100);
  absl::Duration most = absl::Seconds(10);
};

class Backoff {
 public:
  // Equal seeds give equal waits.
  Backoff(BackoffSettings settings, uint64_t seed) : settings_(settings), seed_(seed) {}

  absl::Duration Next();
  // After a success: the next wait is about `first` again.
  void Reset() { tries_ = 0; }

 private:
  const BackoffSettings settings_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int tries_ = 0;
};

}  // namespace noisefloor
