// How long to wait before trying again: up to `first`, then up to twice that, up to `most`. Each
// wait is drawn evenly from nothing to the whole, so that of many who lost the same server at one
// moment no part comes back at one moment: of n that wait up to `first` about n / `first` a second,
// whenever the server is back. Not thread-safe.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace noisefloor {

struct BackoffSettings {
  absl::Duration first = absl::Milliseconds(100);
  absl::Duration most = absl::Seconds(15);
};

// Of a worker that has lost its coordinator: 1,000 of them, as many as one has, are some 100
// greetings in a tenth of a second.
inline constexpr BackoffSettings kReconnectBackoff = {absl::Seconds(1), absl::Seconds(5)};

class Backoff {
 public:
  // Equal seeds give equal waits: everyone needs one of its own.
  Backoff(BackoffSettings settings, uint64_t seed) : settings_(settings), seed_(seed) {}

  absl::Duration Next();
  // After a success: the next wait is up to `first` again.
  void Reset() { tries_ = 0; }

 private:
  const BackoffSettings settings_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int tries_ = 0;
};

}  // namespace noisefloor
