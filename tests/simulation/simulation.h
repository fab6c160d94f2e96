// The scheduler, a store, workers and people under one seed: messages are lost, doubled, delayed
// and overtaken, workers crash, streams break, the disk fills, the coordinator dies at any moment
// and comes back from the store. Then calm, in which every member must end.
#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace noisefloor::test {

// Bugs planted round the scheduler, to prove that the checkers see them.
enum class Mutant : uint8_t {
  kNone,
  kForgetsDrops,            // The end of a lease is sometimes not stored.
  kForgetsRecords,          // Record batches are sometimes acknowledged but not stored.
  kTellsBeforeItKeeps,      // Sends go out before the commit; the coordinator dies between.
  kReusesLeaseNumbers,      // After a restart leases are numbered from 1 again.
  kForgetsLeasesAtRestart,  // Live leases are not read back.
  kAcceptsLateResults,      // What was refused is stored as accepted.
  kNeverGrantsAfterChaos,   // The store is said to fail for ever.
};

struct SimulationResult {
  std::set<std::string> problems;  // Empty: all checkers were silent.
  size_t steps = 0;
  size_t restarts = 0;
  size_t leases = 0;
  size_t results = 0;
  size_t late_results = 0;
  size_t members = 0;
};

SimulationResult Simulate(uint64_t seed, Mutant mutant = Mutant::kNone);

}  // namespace noisefloor::test
