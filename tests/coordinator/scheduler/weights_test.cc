// Weighted shares of the fleet.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/scheduler/shares.h"
#include "coordinator/scheduler/turns.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Finish;
using test::Join;
using test::kT0;
using test::Of;
using test::SubmitFor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

SweepSubmitted Weighing(uint32_t weight, SweepSubmitted event) {
  event.weight = weight;
  return event;
}

uint32_t RunningOf(const Scheduler& scheduler, uint64_t sweep) {
  return scheduler.CountsOf(SweepId{sweep})->In(MemberState::kLeased);
}

std::vector<uint64_t> Leases(const Effects& effects) {
  std::vector<uint64_t> leases;
  for (const SendStart& start : Of<SendStart>(effects)) leases.push_back(start.lease.value);
  return leases;
}

TEST(Standing, IsAFractionWithoutRounding) {
  const auto before = [](Standing a, Standing b) { return a < b; };
  EXPECT_TRUE(before({1, LeaseId{9}, 3}, {1, LeaseId{1}, 2}));
  EXPECT_FALSE(before({2, LeaseId{1}, 2}, {1, LeaseId{9}, 2}));
  EXPECT_TRUE(before({2, LeaseId{1}, 6}, {1, LeaseId{2}, 3})) << "the same share, longer ago";
  EXPECT_FALSE(before({1, LeaseId{2}, 3}, {2, LeaseId{1}, 6}));
  EXPECT_TRUE(before({4000000000u, LeaseId{9}, 1000}, {4000000001u, LeaseId{1}, 1000}));
  EXPECT_TRUE(before({0, LeaseId{1}, 1}, {0, LeaseId{2}, 1000})) << "nothing is nothing";
}

TEST(Weights, InSaturationTwoOwnersOfThreeToOneRunThreeToOneAllTheTime) {
  Scheduler scheduler{Options{}};
  const Effects changed = scheduler.Step(
      ShareUpdated{.request = 1, .owner = "ada", .weight = 3, .caller = "root"}, kT0);
  EXPECT_THAT(Of<KeepShare>(changed), SizeIs(1));
  ASSERT_THAT(Of<AppendEvent>(changed), SizeIs(1));
  EXPECT_EQ(Of<AppendEvent>(changed)[0].text, "ada has weight 1 -> 3");
  EXPECT_EQ(Of<AppendEvent>(changed)[0].caller, "root");
  (void)scheduler.Step(SubmitFor("ada", 1000), kT0);
  (void)scheduler.Step(SubmitFor("grace", 1000), kT0);
  std::vector<uint64_t> leases = Leases(scheduler.Step(Join(1, 20, "u"), kT0));
  ASSERT_THAT(leases, SizeIs(20));
  for (int i = 0; i < 300; ++i) {
    EXPECT_NEAR(RunningOf(scheduler, 1), 15, 1) << i;
    ASSERT_EQ(RunningOf(scheduler, 1) + RunningOf(scheduler, 2), 20u);
    const size_t ends = (i * 7) % leases.size();  // Not the oldest first.
    const std::vector<uint64_t> next = Leases(scheduler.Step(Finish(1, leases[ends]), kT0));
    ASSERT_THAT(next, SizeIs(1)) << i;
    leases[ends] = next[0];
  }
}

TEST(Weights, OfSweepsCountAmongTheirOwnersOnly) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Weighing(4, SubmitFor("ada", 1000)), kT0);
  (void)scheduler.Step(SubmitFor("ada", 1000), kT0);
  (void)scheduler.Step(SubmitFor("grace", 1000), kT0);
  (void)scheduler.Step(Join(1, 20, "u"), kT0);
  EXPECT_EQ(RunningOf(scheduler, 1), 8u);
  EXPECT_EQ(RunningOf(scheduler, 2), 2u);
  EXPECT_EQ(RunningOf(scheduler, 3), 10u) << "grace's share is not less for ada's weights";
}

TEST(Weights, ThatAreChangedCountFromTheNextLeaseOnAndOverARestart) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 1000), kT0);
  (void)scheduler.Step(SubmitFor("grace", 1000), kT0);
  std::vector<uint64_t> leases = Leases(scheduler.Step(Join(1, 8, "u"), kT0));
  ASSERT_EQ(RunningOf(scheduler, 1), 4u);
  const Effects more = scheduler.Step(ShareUpdated{.request = 1, .owner = "ada", .weight = 7}, kT0);
  EXPECT_THAT(more.changed.owners, ElementsAre("ada"));
  EXPECT_EQ(RunningOf(scheduler, 1), 4u) << "no lease is taken back";
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  Scheduler next = Scheduler::Restore(Options{}, scheduler.Durable(), kT0);
  EXPECT_EQ(next.WeightOf("ada"), 7u);
  EXPECT_EQ(next.WeightOf("grace"), 1u);
  EXPECT_THAT(next.BrokenInvariants(), IsEmpty());
  for (int i = 0; i < 40; ++i) {
    const size_t ends = i % leases.size();
    const std::vector<uint64_t> started = Leases(scheduler.Step(Finish(1, leases[ends]), kT0));
    ASSERT_THAT(started, SizeIs(1));
    leases[ends] = started[0];
  }
  EXPECT_EQ(RunningOf(scheduler, 1), 7u);
  EXPECT_EQ(RunningOf(scheduler, 2), 1u);

  const Effects even = scheduler.Step(ShareUpdated{.request = 1, .owner = "ada", .weight = 1}, kT0);
  EXPECT_THAT(Of<KeepShare>(even), SizeIs(1));
  EXPECT_THAT(scheduler.Durable().weights, IsEmpty());
  const Effects same = scheduler.Step(ShareUpdated{.request = 1, .owner = "ada", .weight = 1}, kT0);
  EXPECT_THAT(same.writes, IsEmpty());
}

TEST(Weights, ANewcomerHasNothingOfThePastRepaid) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(ShareUpdated{.request = 1, .owner = "grace", .weight = 2}, kT0);
  (void)scheduler.Step(SubmitFor("ada", 1000), kT0);
  std::vector<uint64_t> leases = Leases(scheduler.Step(Join(1, 6, "u"), kT0));
  for (int i = 0; i < 60; ++i) {
    leases[i % 6] = Leases(scheduler.Step(Finish(1, leases[i % 6]), kT0)).at(0);
  }
  (void)scheduler.Step(SubmitFor("grace", 1000), kT0);
  for (int i = 0; i < 60; ++i) {
    leases[i % 6] = Leases(scheduler.Step(Finish(1, leases[i % 6]), kT0)).at(0);
    EXPECT_LE(RunningOf(scheduler, 2), 4u) << "her share, and no more for having been away";
  }
  EXPECT_EQ(RunningOf(scheduler, 2), 4u);
}

TEST(Weights, AreUpdatedAndExplained) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 10), kT0);
  (void)scheduler.Step(SubmitFor("ada", 10), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  EXPECT_THAT(scheduler.Explain({SweepId{2}, 0, 1}, kT0), Not(HasSubstr("weight")));
  const Effects changed =
      scheduler.Step(SweepUpdated{.request = 1, .sweep = SweepId{2}, .weight = 5}, kT0);
  ASSERT_THAT(Of<KeepSharing>(changed), SizeIs(1));
  EXPECT_EQ(Of<KeepSharing>(changed)[0].sharing.weight, 5u);
  EXPECT_EQ(Of<AppendEvent>(changed).at(0).text, "s2 weight 1 -> 5");
  EXPECT_THAT(scheduler.Explain({SweepId{2}, 0, 1}, kT0),
              HasSubstr("takes turns with 1 other by weight (its own 5, its owner's 1)"));
}

TEST(Explained, AStartIsExpectedWhereTheTimesOfTheClassAreKnown) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 100), kT0);
  const std::vector<uint64_t> leases = Leases(scheduler.Step(Join(1, 4, "u"), kT0));
  const MemberId ninth = {SweepId{1}, 0, 12};
  EXPECT_THAT(scheduler.Explain(ninth, kT0), Not(HasSubstr("expected"))) << "nothing has ended";
  AttemptFinished done = Finish(1, leases.at(0));
  done.outcome.train_seconds = 120;
  (void)scheduler.Step(done, kT0);
  EXPECT_THAT(scheduler.Explain(ninth, kT0),
              HasSubstr("position 8 of 95 among those that wait for the same; expected to start in "
                        "about 4 m."))
      << "8 ends of 120 s, 4 at a time";
  SweepSubmitted urgent = SubmitFor("grace", 1);
  urgent.priority = 1;
  (void)scheduler.Step(urgent, kT0);
  EXPECT_THAT(scheduler.Explain(ninth, kT0), Not(HasSubstr("expected"))) << "that goes first";
}

// What a replay waits behind is not how many others wait, but how many owners and sweeps do.
TEST(Weights, AReplayHasTheNextFreeSlotBesideASweepOfAHundredThousand) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 100000), kT0);
  const std::vector<uint64_t> leases = Leases(scheduler.Step(Join(1, 4, "u"), kT0));
  SweepSubmitted replay = SubmitFor("ada", 1);
  (void)scheduler.Step(replay, kT0);
  const auto started = Of<SendStart>(scheduler.Step(Finish(1, leases[0]), kT0));
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].member.sweep, SweepId{2}) << "it has nothing yet";
}

}  // namespace
}  // namespace noisefloor::scheduler
