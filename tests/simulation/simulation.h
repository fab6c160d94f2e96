// The scheduler, a store, workers and people under one seed: messages are lost, doubled, delayed
// and overtaken, workers crash, streams break, the disk fills, the coordinator dies at any moment
// and comes back from the store. Then calm, in which every member must end.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"

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
  kFillsMoreThanTheSlots,   // Workers say that they have one slot more than they have.
  kGrantsTheFirstSlot,      // Whatever slot a lease is for, slot 0 is stored.
  kIgnoresClasses,          // Workers say that they have every class.
  kRetriesTooOften,         // The budgets of attempts are larger than agreed.
  kEndsQuarantinesEarly,    // After a second.
  kIgnoresPauses,           // The scheduler does not hear of them; nor, below, of the rest.
  kInvertsPriorities,
  kForgetsOwners,   // All sweeps are of one.
  kServesTheFirst,  // The older sweep, as if its priority were higher.
  kForgetsDrains,   // And quarantines by people.
  kIgnoresLimits,
  kMixesUpWeights,  // 2 of a sweep is taken for 4, and 4 for 2.
  kMixesUpOwnersWeights,
  kForgetsOldNumbers,  // What an extended sweep was before is not stored.
  kForgetsDeletions,   // Nor that a sweep was deleted.
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

// Sees each transaction and what the store that simulates holds after it.
using Witness =
    std::function<void(const std::vector<scheduler::Write>&, const scheduler::RecoveredState&)>;

SimulationResult Simulate(uint64_t seed, Mutant mutant = Mutant::kNone, Witness witness = {});

}  // namespace noisefloor::test
