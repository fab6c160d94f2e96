// What the scheduler of a cluster says of a job of ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace noisefloor::fleet {

enum class JobPhase : uint8_t {
  kWaiting = 1,  // Has not begun.
  kAlive = 2,    // Has begun, and its processes may run.
  kWell = 3,     // Ended by itself, or at its time limit.
  kTaken = 4,    // Ended by others: preempted, cancelled, its node is down.
  kBroken = 5,   // Ended as it should not.
};

struct Job {
  std::string key;     // "25", or "24_0" of an array: unique while the cluster remembers it.
  std::string name;    // As it was submitted.
  uint32_t index = 0;  // In its array; 0 without one.
  JobPhase phase = JobPhase::kAlive;
  std::string state;                         // The cluster's word: "PENDING".
  std::string reason;                        // Likewise; empty: none.
  std::string node;                          // Empty: none yet.
  absl::Time begins = absl::InfinitePast();  // Infinite: not known.
  absl::Time ends = absl::InfiniteFuture();  // At its time limit, or when it did.
  friend bool operator==(const Job&, const Job&) = default;
};

// Slurm's long words for the state of a job; "CANCELLED by 0" and "COMPLETING+" too. One that is
// not known counts as alive: nothing is given up for it.
JobPhase PhaseOf(std::string_view slurm_state);

// Whether a job that waits for this (squeue's %r) will never begin as it was submitted.
bool NeverBegins(std::string_view slurm_reason);

// What the person who waits can make of squeue's %r; empty: no more than the word says.
std::string_view InWords(std::string_view slurm_reason);

}  // namespace noisefloor::fleet
