// What the loop has done since the process began.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "coordinator/figures/histogram.h"

namespace noisefloor::figures {

using Counter = std::atomic<uint64_t>;  // Only rises.

// One writes, any thread reads. All of it is of what is on disk.
struct LoopFigures {
  static constexpr size_t kMostCauses = 32;

  Counter leases_granted{0};
  Counter leases_expired{0};                        // No sign of life came in time.
  std::array<Counter, kMostCauses> leases_ended{};  // By CauseClass; kNone: with its result.
  Counter members_done{0};                          // Accepted results,
  Counter members_diverged{0};                      // of which these are not finite.
  Counter records{0};                               // Measured values.
  Histogram commit_seconds{kSecondBounds};          // Of one transaction, with its sync.
  Histogram commit_writes{kCountBounds};            // In one transaction.
};

// Files of attempts that came.
struct UploadFigures {
  Counter files{0};
  Counter bytes{0};
};

}  // namespace noisefloor::figures
