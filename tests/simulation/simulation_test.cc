// The scheduler under chaos. A failing seed is printed as a command to paste:
//   NOISEFLOOR_SEED=17 simulation_test
// NOISEFLOOR_SEEDS=5000 runs more of them, NOISEFLOOR_FIRST_SEED=301 others.
#include "tests/simulation/simulation.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/clock.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

uint64_t Environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

// The faults of one world to those of others.
void Add(const SimulationResult& one, SimulationResult& all) {
  all.wall_jumps += one.wall_jumps;
  all.stalls += one.stalls;
  all.refused_calls += one.refused_calls;
  all.network.carried += one.network.carried;
  all.network.lost += one.network.lost;
  all.network.doubled += one.network.doubled;
  all.network.cuts += one.network.cuts;
  all.network.held_by_cuts += one.network.held_by_cuts;
  all.disk.commits += one.disk.commits;
  all.disk.refused += one.disk.refused;
  all.disk.full += one.disk.full;
  all.disk.in_doubt += one.disk.in_doubt;
  all.disk.kept += one.disk.kept;
  all.disk.found += one.disk.found;
  all.disk.slow += one.disk.slow;
}

std::string FaultsOf(const SimulationResult& all) {
  return fmt::format(
      "{} messages: {} lost, {} doubled, {} cut off by {} partitions; {} commits: {} refused, disk "
      "{} times full, {} in doubt of which {} were found, {} slow; {} jumps of the wall clock, {} "
      "stood still, {} calls refused\n",
      all.network.carried, all.network.lost, all.network.doubled, all.network.held_by_cuts,
      all.network.cuts, all.disk.commits, all.disk.refused, all.disk.full, all.disk.in_doubt,
      all.disk.found, all.disk.slow, all.wall_jumps, all.stalls, all.refused_calls);
}

TEST(Simulation, EverySeedEndsEveryMemberAndBreaksNothing) {
  const SystemClock clock;
  const absl::Duration begun = clock.Steady();
  const uint64_t first = Environment("NOISEFLOOR_SEED", Environment("NOISEFLOOR_FIRST_SEED", 1));
  uint64_t count = Environment("NOISEFLOOR_SEEDS", 300);
  if (std::getenv("NOISEFLOOR_SEEDS_ALL") != nullptr) {
    count = Environment("NOISEFLOOR_SEEDS_OF_ALL", count);
  }
  if (std::getenv("NOISEFLOOR_SEED") != nullptr) count = 1;
  SimulationResult all;

  for (uint64_t seed = first; seed < first + count; ++seed) {
    const SimulationResult result = Simulate(seed);
    EXPECT_THAT(result.problems, testing::IsEmpty())
        << "NOISEFLOOR_SEED=" << seed << " simulation_test";
    all.steps += result.steps;
    all.restarts += result.restarts;
    all.leases += result.leases;
    all.results += result.results;
    all.late_results += result.late_results;
    all.members += result.members;
    Add(result, all);
  }

  std::cout << count << " seeds from " << first << ": " << all.steps << " steps, " << all.restarts
            << " restarts, " << all.members << " members, " << all.leases << " leases, "
            << all.results << " results, " << all.late_results << " late ones\n"
            << FaultsOf(all)
            << static_cast<double>(all.steps) / absl::ToDoubleSeconds(clock.Steady() - begun)
            << " events a second, each transaction compared whole\n";
  if (count == 1) return;
  EXPECT_GT(all.restarts, count);  // The faults did happen,
  EXPECT_GT(all.leases, all.members);
  EXPECT_GT(all.late_results, 0u);
  EXPECT_GT(all.network.held_by_cuts, 0u);
  EXPECT_GT(all.disk.refused, 0u);
  EXPECT_GT(all.disk.found, 0u);
  EXPECT_GT(all.disk.in_doubt, all.disk.found + all.disk.kept);
  EXPECT_GT(all.disk.kept, 0u);
  EXPECT_GT(all.disk.slow, 0u);
  EXPECT_GT(all.wall_jumps, 0u);
  EXPECT_GT(all.refused_calls, 0u);
  EXPECT_GT(all.results, all.members / 3);  // and work was done all the same.
}

TEST(Simulation, TheSameSeedGivesTheSameStory) {
  const SimulationResult once = Simulate(42);
  const SimulationResult again = Simulate(42);

  EXPECT_EQ(once.steps, again.steps);
  EXPECT_EQ(once.leases, again.leases);
  EXPECT_EQ(once.results, again.results);
}

// A planted bug must be seen within a few seeds, by the checker that is there for it.
void ExpectSeen(Mutant mutant, const char* words, uint64_t seeds = 20,
                const WorldSize& size = SmallWorld()) {
  std::set<std::string> problems;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const SimulationResult result = Simulate(size, seed, mutant);
    problems.insert(result.problems.begin(), result.problems.end());
  }
  EXPECT_THAT(problems, Contains(HasSubstr(words)));
}

TEST(PlantedBug, ForgottenDropsAreSeenAsTwoLiveLeases) {
  ExpectSeen(Mutant::kForgetsDrops, "has two live leases");
}
TEST(PlantedBug, ForgottenDropsAreSeenAsADifferenceFromTheStore) {
  ExpectSeen(Mutant::kForgetsDrops, "rebuilt from the store: live leases differ");
}
TEST(PlantedBug, ForgottenRecordsAreSeenAsAcknowledgedAndLost) {
  ExpectSeen(Mutant::kForgetsRecords, "acknowledged records are not in the store");
}
TEST(PlantedBug, TellingBeforeKeepingIsSeenAsAResultThatDisappeared) {
  ExpectSeen(Mutant::kTellsBeforeItKeeps, "an acknowledged result is not in the store", 80);
}
TEST(PlantedBug, LeaseNumbersUsedAgainAreSeen) {
  ExpectSeen(Mutant::kReusesLeaseNumbers, "rebuilt from the store: the last lease differs");
}
TEST(PlantedBug, LeasesForgottenAtARestartAreSeen) {
  ExpectSeen(Mutant::kForgetsLeasesAtRestart, "is leased and has no live lease");
}
TEST(PlantedBug, LateResultsAcceptedAreSeenAsASecondResult) {
  ExpectSeen(Mutant::kAcceptsLateResults, "is accepted twice");
}
TEST(PlantedBug, AStandstillIsSeenAsAMemberThatNeverEnds) {
  ExpectSeen(Mutant::kNeverGrantsAfterChaos, "a member never ends");
}
TEST(PlantedBug, OverfilledWorkersAreSeen) {
  ExpectSeen(Mutant::kFillsMoreThanTheSlots, "for a slot that it has not");
}
TEST(PlantedBug, TwoMembersInOneSlotAreSeen) {
  ExpectSeen(Mutant::kGrantsTheFirstSlot, "a slot has two live leases");
  ExpectSeen(Mutant::kGrantsTheFirstSlot, "a lease names another unit than its slot");
}
TEST(PlantedBug, LeasesToAnotherClassAreSeen) {
  ExpectSeen(Mutant::kIgnoresClasses, "of a class that it has not");
}
TEST(PlantedBug, AttemptsAboveTheBudgetAreSeen) {
  ExpectSeen(Mutant::kRetriesTooOften, "than faults of its own allow");
  WorldSize harsh = SmallWorld();  // Every attempt fails, some for no fault of the member.
  harsh.fails = 1;
  harsh.chaos_rounds = 1000;
  harsh.cancels = harsh.deletes = 0;
  ExpectSeen(Mutant::kRetriesTooOften, "than lost workers allow", 20, harsh);
}
TEST(PlantedBug, LeasesToAWorkerInQuarantineAreSeen) {
  ExpectSeen(Mutant::kEndsQuarantinesEarly, "a device in quarantine was given a member", 400);
}

TEST(PlantedBug, LeasesOfPausedSweepsAreSeen) {
  ExpectSeen(Mutant::kIgnoresPauses, "a paused sweep was given a lease");
}
TEST(PlantedBug, PrioritiesTheOtherWayRoundAreSeen) {
  ExpectSeen(Mutant::kInvertsPriorities, "a sweep of higher priority had to wait");
}
TEST(PlantedBug, OwnersWhoAreTakenForOneAreSeen) {
  ExpectSeen(Mutant::kForgetsOwners, "an owner who had less, or had it longer ago, had to wait",
             150);
}
TEST(PlantedBug, SweepsThatAreServedOneAfterTheOtherAreSeen) {
  ExpectSeen(Mutant::kServesTheFirst, "a sweep that had less, or had it longer ago, had to wait");
}
TEST(PlantedBug, LimitsThatAreIgnoredAreSeen) {
  ExpectSeen(Mutant::kIgnoresLimits, "a sweep was given more of a class than it may have");
}
TEST(PlantedBug, WeightsOfSweepsThatAreMixedUpAreSeen) {
  ExpectSeen(Mutant::kMixesUpWeights, "a sweep that had less, or had it longer ago, had to wait",
             40);
}
TEST(PlantedBug, WeightsOfOwnersThatAreMixedUpAreSeen) {
  ExpectSeen(Mutant::kMixesUpOwnersWeights,
             "an owner who had less, or had it longer ago, had to wait", 40);
}
TEST(PlantedBug, ExtensionsThatNumberCellsAnewAreSeen) {
  ExpectSeen(Mutant::kForgetsOldNumbers, "a cell became another when it was extended");
}
TEST(PlantedBug, DeletionsThatAreNotKeptAreSeen) {
  ExpectSeen(Mutant::kForgetsDeletions, "rebuilt from the store: the number of sweeps differs");
}
TEST(PlantedBug, LeasesToWorkersOutOfUseAreSeen) {
  ExpectSeen(Mutant::kForgetsDrains, "a worker out of use was given a member");
}

TEST(PlantedBug, AFailureThatIsTakenForSuccessIsSeen) {
  ExpectSeen(Mutant::kTakesFailureForSuccess, "rebuilt from the store: ");
}
TEST(PlantedBug, WhatWasNotKeptAndIsDroppedIsSeen) {
  ExpectSeen(Mutant::kDropsWhatItCouldNotKeep, "rebuilt from the store: ");
}
TEST(PlantedBug, ADiskThatIsNotTriedAgainIsSeenAsAStandstill) {
  ExpectSeen(Mutant::kNeverTriesAgain, "a member never ends");
}
TEST(PlantedBug, ARefusedCallThatIsNotTakenBackIsSeen) {
  ExpectSeen(Mutant::kKeepsWhatItRefused, "rebuilt from the store: ", 80);
}
TEST(PlantedBug, ARetryUnderANewNumberIsSeen) {
  ExpectSeen(Mutant::kNumbersRetriesAnew, "is granted twice", 80);
}
TEST(PlantedBug, WhatIsAddedToAStepThatWasTriedIsSeen) {
  ExpectSeen(Mutant::kMixesTriedAndNew, "rebuilt from the store: ", 80);
}
TEST(PlantedBug, ARefusedCallThatWasKeptAllTheSameIsSeen) {
  ExpectSeen(Mutant::kSettlesNoDoubt, "rebuilt from the store: ", 80);
}
TEST(PlantedBug, ARestartThatOverlooksWhatWasInDoubtIsSeen) {
  ExpectSeen(Mutant::kReadsBeforeTheEnd, "rebuilt from the store: ", 80);
}
TEST(PlantedBug, SendsThatDoNotWaitForASlowDiskAreSeen) {
  ExpectSeen(Mutant::kDoesNotWaitForTheDisk, "an acknowledged result is not in the store", 80);
}
TEST(PlantedBug, LeasesThatEndByTheWallClockAreSeen) {
  ExpectSeen(Mutant::kUsesTheWallClock, "a lease expired before its time", 80);
}
TEST(PlantedBug, LeasesThatNobodyHoldsAndNobodyMissesAreSeen) {
  ExpectSeen(Mutant::kBelievesItsOwnLeases, "a member never ends");
}

}  // namespace
}  // namespace noisefloor::test
