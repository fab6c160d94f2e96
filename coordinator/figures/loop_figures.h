// What the loop has done since the process began.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "coordinator/figures/histogram.h"

namespace noisefloor::figures {

using Counter = std::atomic<uint64_t>;  // Only rises.

// One writes, any thread reads. All but the times and the heartbeats is of what is on disk.
struct LoopFigures {
  static constexpr size_t kMostCauses = 32;

  Counter heartbeats{0};  // Of workers: each renews all leases that it names.
  Counter leases_granted{0};
  Counter leases_expired{0};                        // No sign of life came in time.
  std::array<Counter, kMostCauses> leases_ended{};  // By CauseClass; kNone: with its result.
  Counter members_done{0};                          // Accepted results,
  Counter members_diverged{0};                      // of which these are not finite.
  Counter records{0};                               // Measured values.
  Histogram commit_seconds{kSecondBounds};          // Of one transaction, with its sync.
  Histogram commit_writes{kCountBounds};            // In one transaction.
  // What the loop does between two looks at what has arrived: so long nobody is heard.
  Histogram piece_seconds{kPieceBounds};
  std::atomic<double> longest_piece_seconds{0};

  // By the one that writes.
  void NotePiece(double seconds) {
    piece_seconds.Observe(seconds);
    if (seconds > longest_piece_seconds) longest_piece_seconds = seconds;
  }
};

// Files of attempts that came.
struct UploadFigures {
  Counter files{0};
  Counter bytes{0};
};

}  // namespace noisefloor::figures
