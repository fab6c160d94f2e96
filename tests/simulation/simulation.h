// The scheduler, a store, workers and people under one seed: messages are lost, doubled, delayed
// and overtaken, workers are cut off one way or both, crash and stand still, streams break, clocks
// jump, the disk refuses, fails at the commit, is full or slow, the coordinator stands still or
// dies at any moment and comes back from the store. Then calm, in which every member must end.
//
// Small worlds, of which there are thousands, and one of the size that is promised are the same
// world under the same faults.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"
#include "coordinator/scheduler/scheduler.h"
#include "tests/simulation/faulty_disk.h"
#include "tests/simulation/network.h"

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
  // Seen under faults of disk, clocks and network alone.
  kTakesFailureForSuccess,   // What the disk refused is told as if it were kept.
  kDropsWhatItCouldNotKeep,  // It is not tried again.
  kNeverTriesAgain,          // Nor is anything else kept after a failure.
  kKeepsWhatItRefused,       // A call that could not be kept is refused and not taken back.
  kNumbersRetriesAnew,       // What is tried again is a new step, whatever became of the first try.
  kMixesTriedAndNew,         // What was decided since is tried as part of the step tried before.
  kSettlesNoDoubt,           // The number of a refused call goes to others, whatever became of it.
  kReadsBeforeTheEnd,        // A restart reads the store without what was in doubt and is there.
  kDoesNotWaitForTheDisk,    // While a commit is slow its sends go out, and the coordinator dies.
  kUsesTheWallClock,         // Leases end by a clock that jumps.
  kBelievesItsOwnLeases,     // A worker is taken to hold what it was sent, whatever it says.
};

// How large a world is, and how often it fares badly.
struct WorldSize {
  size_t fewest_workers = 2;
  size_t most_workers = 5;
  uint32_t sweeps = 3;      // Submitted by people in the chaos.
  uint32_t points = 0;      // Cells of each plan; 0: one, and few replicates by chance.
  uint32_t replicates = 0;  // With points.
  int chaos_rounds = 300;
  int calm_rounds = 1500;
  uint64_t mishaps = 1;        // Workers that may have one in a round.
  uint64_t fails = 4;          // One attempt in so many does in the chaos.
  uint64_t batch = 2;          // Events that are committed together, on average.
  uint64_t dies = 60;          // The coordinator, at one commit in so many,
  uint64_t dies_between = 50;  // between two rounds of so many.
  uint64_t cancels = 150;  // People, a whole sweep or a part of it: one round in so many; 0: none.
  uint64_t deletes = 90;   // Likewise.
  // Events between two comparisons of all that the scheduler holds with all that is kept; 0: it is
  // compared after each transaction.
  uint64_t whole_every = 0;
  FaultyDisk::Faults disk = {};
  uint32_t most_at_once = 2;  // Of the scheduler's options.
};
WorldSize SmallWorld();
// 1,000 workers with two slots each, and 100,000 members.
WorldSize LargeWorld();
// Ten times the workers, and as many members: most have one at the same time.
WorldSize HugeWorld();

struct SimulationResult {
  std::set<std::string> problems;  // Empty: all checkers were silent.
  size_t steps = 0;
  size_t restarts = 0;
  size_t leases = 0;
  size_t results = 0;
  size_t late_results = 0;
  size_t members = 0;  // Of sweeps that were not deleted,
  size_t ended = 0;    // and of them those that have.
  size_t retries = 0;
  size_t whole_checks = 0;
  size_t wall_jumps = 0;  // Of the coordinator's clock.
  size_t stalls = 0;      // Times that the coordinator or a worker stood still.
  size_t refused_calls = 0;
  Network::Told network;
  FaultyDisk::Told disk;
};

// Sees each transaction and what the store that simulates holds after it.
using Witness =
    std::function<void(const std::vector<scheduler::Write>&, const scheduler::RecoveredState&)>;

SimulationResult Simulate(uint64_t seed, Mutant mutant = Mutant::kNone, Witness witness = {});
SimulationResult Simulate(const WorldSize& size, uint64_t seed, Mutant mutant = Mutant::kNone,
                          Witness witness = {});

}  // namespace noisefloor::test
