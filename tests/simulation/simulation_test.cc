// The scheduler under chaos. A failing seed is printed as a command to paste:
//   NOISEFLOOR_SEED=17 simulation_test
// NOISEFLOOR_SEEDS=5000 runs more of them.
#include "tests/simulation/simulation.h"

#include <cstdlib>
#include <iostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

uint64_t Environment(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

TEST(Simulation, EverySeedEndsEveryMemberAndBreaksNothing) {
  const uint64_t first = Environment("NOISEFLOOR_SEED", 1);
  const bool one = std::getenv("NOISEFLOOR_SEED") != nullptr;
  const uint64_t count = one ? 1 : Environment("NOISEFLOOR_SEEDS", 300);
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
  }

  std::cout << count << " seeds from " << first << ": " << all.steps << " steps, " << all.restarts
            << " restarts, " << all.members << " members, " << all.leases << " leases, "
            << all.results << " results, " << all.late_results << " late ones\n";
  if (one) return;
  EXPECT_GT(all.restarts, count);  // The faults did happen,
  EXPECT_GT(all.leases, all.members);
  EXPECT_GT(all.late_results, 0u);
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
void ExpectSeen(Mutant mutant, const char* words, uint64_t seeds = 20) {
  std::set<std::string> problems;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const SimulationResult result = Simulate(seed, mutant);
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
  ExpectSeen(Mutant::kRetriesTooOften, "than lost workers allow", 80);
}
TEST(PlantedBug, LeasesToAWorkerInQuarantineAreSeen) {
  ExpectSeen(Mutant::kEndsQuarantinesEarly, "a device in quarantine was given a member", 150);
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

}  // namespace
}  // namespace noisefloor::test
