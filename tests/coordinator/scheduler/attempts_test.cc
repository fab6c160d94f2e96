// What attempts, failures and time do to leases and workers, decision by decision.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// At kT0 + `seconds`.
template <typename E>
Effects At(Scheduler& scheduler, int seconds, const E& event) {
  return scheduler.Step(event, kT0 + absl::Seconds(seconds));
}

void TickUntil(Scheduler& scheduler, int from, int until) {
  for (int second = from; second <= until; ++second) (void)At(scheduler, second, Tick{});
}

bool IsQuarantined(const Scheduler& scheduler, size_t worker) {
  const std::vector<Pause> paused = scheduler.Workers().at(worker).paused;
  return !paused.empty() && paused[0].reason.starts_with("in quarantine");
}

TEST(Leases, AreRenewedByAHelloAndByRecordsAsByHeartbeats) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  TickUntil(scheduler, 1, 10);

  (void)At(scheduler, 10, AttemptStarted{SessionId{1}, LeaseId{1}, ""});
  TickUntil(scheduler, 11, 24);
  EXPECT_THAT(scheduler.Running(), SizeIs(1));

  (void)At(scheduler, 24,
           RecordsArrived{SessionId{1}, LeaseId{1}, {1, {Record{.metric = "loss", .value = 1}}}});
  TickUntil(scheduler, 25, 38);
  EXPECT_THAT(scheduler.Running(), SizeIs(1));

  TickUntil(scheduler, 39, 39);
  EXPECT_THAT(scheduler.Running(), IsEmpty());
}

TEST(LateResult, IsTakenFromTheWorkerOfItsLeaseOnly) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  TickUntil(scheduler, 1, 15);
  (void)At(scheduler, 15, Join(2, 1, "u2"));

  const Effects stranger = At(scheduler, 16, Finish(2, 1));
  EXPECT_THAT(Of<KeepOutcome>(stranger), IsEmpty());
  ASSERT_THAT(Of<SendSettled>(stranger), SizeIs(1));
  EXPECT_EQ(Of<SendSettled>(stranger)[0].reason, "lease 1 is not this worker's");

  EXPECT_THAT(Of<KeepOutcome>(At(scheduler, 16, Finish(1, 1))), SizeIs(1));
}

// Whoever names a file that is not here could name another's.
TEST(RefusedEnd, KeepsThoseOfItsFilesThatAreHere) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  AttemptFinished failed = Fail(1, 1, CauseClass::kBug);
  failed.outcome.artifacts = {{"log", "log", std::string(64, 'a'), 1},
                              {"weights", "weights", std::string(64, 'c'), 2},
                              {"checkpoint", "checkpoint", std::string(64, 'b'), 2}};
  failed.missing_artifacts = {std::string(64, 'c'), std::string(64, 'b')};

  const auto kept = Of<KeepOutcome>(At(scheduler, 1, std::move(failed)));

  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_FALSE(kept[0].accepted);
  ASSERT_THAT(kept[0].outcome.artifacts, SizeIs(1));
  EXPECT_EQ(kept[0].outcome.artifacts[0].kind, "log");
}

TEST(Quarantine, CountsRecordBatchesThatMakeNoSense) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo", "impl", "control"}, 1)));
  (void)At(scheduler, 0, Join(1, 3, "u1"));
  (void)At(scheduler, 0, Join(2, 1, "u2"));

  for (uint64_t lease = 1; lease <= 3; ++lease) {
    EXPECT_FALSE(IsQuarantined(scheduler, 0));
    (void)At(scheduler, 1, RecordsArrived{SessionId{1}, LeaseId{lease}, {1, {}, "nonsense"}});
  }
  EXPECT_TRUE(IsQuarantined(scheduler, 0));
}

TEST(Quarantine, IsForFailuresOnDifferentMembers) {
  Scheduler scheduler{Options{.most_attempts = 9}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  WorkerConnected other = Join(2, 1, "u2");  // Could stand in for the first by its class alone.
  other.inventory = test::MakeInventory({.unit = "u2", .stacks = {{"", "another", "f2", "b"}}});
  (void)At(scheduler, 0, other);

  for (uint64_t lease = 1; lease <= 5; ++lease) {
    (void)At(scheduler, 0, Fail(1, lease, CauseClass::kBug));
    EXPECT_FALSE(IsQuarantined(scheduler, 0)) << lease;
  }
}

TEST(Quarantine, NeedsAnotherWorkerThatIsThere) {
  for (const bool connected : {true, false}) {
    Scheduler scheduler{Options{}};
    (void)At(scheduler, 0, Submit(MakeSweep({"algo", "impl", "control"}, 1)));
    (void)At(scheduler, 0, Join(1, 3, "u1"));
    (void)At(scheduler, 0, Join(2, 1, "u2"));
    if (!connected) (void)At(scheduler, 0, SessionLost{SessionId{2}});

    for (uint64_t lease = 1; lease <= 3; ++lease) {
      (void)At(scheduler, 0, Fail(1, lease, CauseClass::kBug));
    }
    EXPECT_EQ(IsQuarantined(scheduler, 0), connected);
  }
}

TEST(Tick, GivesTheTimeOfAFullDiskBackOnce) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  (void)At(scheduler, 0, Tick{});
  (void)At(scheduler, 1, StorageFailed{"full"});

  (void)At(scheduler, 11, StorageRecovered{});  // Nothing ticks in between.
  TickUntil(scheduler, 11, 24);
  EXPECT_THAT(scheduler.Running(), SizeIs(1));
  TickUntil(scheduler, 25, 25);
  EXPECT_THAT(scheduler.Running(), IsEmpty());
}

// Members wait a whole minute for data, counted from the last time when some worker had them.
TEST(DataGrace, BeginsAnewWhenAWorkerWithTheDataWasThere) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  (void)At(scheduler, 0, AttemptStarted{SessionId{1}, LeaseId{1}, std::string(64, 'd')});
  (void)At(scheduler, 0, SessionLost{SessionId{1}});
  TickUntil(scheduler, 1, 15);
  (void)At(scheduler, 15, Join(2, 1, "u2"));
  (void)At(scheduler, 15, AttemptStarted{SessionId{2}, LeaseId{2}, std::string(64, '0')});
  const auto state = [&] { return scheduler.Durable().sweeps[0].cells[0].members[0].state; };
  TickUntil(scheduler, 16, 40);

  (void)At(scheduler, 40, Join(1, 1, "u1"));  // Gets it, and goes.
  (void)At(scheduler, 41, SessionLost{SessionId{1}});
  TickUntil(scheduler, 42, 55);
  ASSERT_EQ(state(), MemberState::kWaiting) << "again, from now on";
  TickUntil(scheduler, 56, 114);
  EXPECT_EQ(state(), MemberState::kWaiting);
  TickUntil(scheduler, 115, 115);
  EXPECT_EQ(state(), MemberState::kFailed);
}

// Who pauses a sweep brings its data meanwhile, perhaps.
TEST(DataGrace, BeginsAnewWhenASweepGoesOn) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  (void)At(scheduler, 0, AttemptStarted{SessionId{1}, LeaseId{1}, std::string(64, 'd')});
  (void)At(scheduler, 0, SessionLost{SessionId{1}});
  TickUntil(scheduler, 1, 15);
  (void)At(scheduler, 15, Join(2, 1, "u2"));
  (void)At(scheduler, 15, AttemptStarted{SessionId{2}, LeaseId{2}, std::string(64, '0')});
  TickUntil(scheduler, 16, 40);
  (void)At(scheduler, 40, SweepUpdated{.request = 1, .sweep = SweepId{1}, .paused = true});
  TickUntil(scheduler, 41, 50);

  (void)At(scheduler, 50, SweepUpdated{.request = 2, .sweep = SweepId{1}, .paused = false});

  const auto state = [&] { return scheduler.Durable().sweeps[0].cells[0].members[0].state; };
  TickUntil(scheduler, 51, 109);
  EXPECT_EQ(state(), MemberState::kWaiting);
  TickUntil(scheduler, 110, 112);
  EXPECT_EQ(state(), MemberState::kFailed);
}

TEST(Restore, RemembersThatTheEvaluationSetIsKept) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 3)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  AttemptFinished first = Finish(1, 1);
  first.outcome.artifacts = {{"evaluation_images", "images.npy", std::string(64, 'e'), 9}};
  (void)At(scheduler, 0, first);
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  WorkerConnected back = Join(1, 2, "u1");
  back.held = {{LeaseId{2}, 0, 0, 0}};

  const auto starts = Of<SendStart>(restored.Step(back, kT0));
  ASSERT_THAT(starts, SizeIs(1));
  EXPECT_FALSE(starts[0].write_evaluation_set);
}

TEST(Restore, RemembersOnWhichUnitAControlRuns) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Join(2, 1, "u2"));
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 1)));
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  ASSERT_THAT(Started(At(scheduler, 0, Submit(MakeSweep({"control"}, 2)))),
              ElementsAre("s2c0r0 w1"));

  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  (void)restored.Step(StorageFailed{"full"}, kT0);  // So that both are there before it places.
  WorkerConnected first = Join(1, 8, "u1");
  first.held = {{LeaseId{2}, 0, 0, 0}};
  WorkerConnected second = Join(2, 2, "u2");
  second.held = {{LeaseId{1}, 0, 0, 0}};
  (void)restored.Step(first, kT0);
  (void)restored.Step(second, kT0);

  EXPECT_THAT(Started(restored.Step(StorageRecovered{}, kT0)), ElementsAre("s2c0r1 w2"));
}

TEST(Placement, ComparesSharesOfSlotsNotNumbersOfLeases) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Join(1, 2, "u1"));
  (void)At(scheduler, 0, Join(2, 8, "u2"));

  EXPECT_THAT(Started(At(scheduler, 0, Submit(MakeSweep({"algo"}, 4)))),
              ElementsAre("s1c0r0 w1", "s1c0r1 w2", "s1c0r2 w2", "s1c0r3 w2"));
}

TEST(Placement, AWorkerThatDrainedAndCameBackTakesLeasesAgain) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Join(1, 1, "u1"));
  (void)At(scheduler, 1, WorkerDraining{SessionId{1}});
  EXPECT_THAT(Started(At(scheduler, 2, Submit(MakeSweep({"algo"}, 1)))), IsEmpty());
  (void)At(scheduler, 3, SessionLost{SessionId{1}});
  WorkerConnected again = Join(1, 1, "u1");
  again.session = SessionId{2};

  EXPECT_THAT(Started(At(scheduler, 4, again)), ElementsAre("s1c0r0 w2"));  // Of session 2.
}

// A lease that was on its way when the worker left costs no lease time: another begins at once.
TEST(SessionLost, GivesBackWhatALeavingWorkerHasNeverBegun) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Join(1, 2, "u1"));
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 2)));
  (void)At(scheduler, 0, AttemptStarted{SessionId{1}, LeaseId{1}, ""});
  (void)At(scheduler, 1, WorkerDraining{SessionId{1}});
  (void)At(scheduler, 2, SessionLost{SessionId{1}});
  EXPECT_THAT(scheduler.Running(), SizeIs(1)) << "the one that it trains";

  EXPECT_THAT(Started(At(scheduler, 3, Join(2, 2, "u2"))), ElementsAre("s1c0r1 w2"));
}

// Without a word that it leaves it may come back with what it holds.
TEST(SessionLost, KeepsTheLeasesOfAWorkerThatMayComeBack) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Join(1, 2, "u1"));
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 2)));
  (void)At(scheduler, 2, SessionLost{SessionId{1}});
  EXPECT_THAT(scheduler.Running(), SizeIs(2));
}

AttemptFinished Done(uint64_t lease, double seconds) {
  AttemptFinished event = Finish(1, lease);
  event.outcome.train_seconds = seconds;
  return event;
}

TEST(Placement, BeginsAReplicateWithTheClassThatTrainsLongest) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 3, {"fast", "slow", "middle"})));
  ASSERT_THAT(Started(At(scheduler, 0, Join(1, 1, "u1", {"fast", "slow", "middle"}))),
              ElementsAre("s1c0r0 w1"));

  // What nothing is known of comes first, in the order of the cells.
  EXPECT_THAT(Started(At(scheduler, 1, Done(1, 1))), ElementsAre("s1c1r0 w1"));
  EXPECT_THAT(Started(At(scheduler, 2, Done(2, 9))), ElementsAre("s1c2r0 w1"));
  EXPECT_THAT(Started(At(scheduler, 3, Done(3, 4))), ElementsAre("s1c1r1 w1"));
  EXPECT_THAT(Started(At(scheduler, 4, Done(4, 9))), ElementsAre("s1c2r1 w1"));
  EXPECT_THAT(Started(At(scheduler, 5, Done(5, 4))), ElementsAre("s1c0r1 w1"));
  // The mean of what ended decides: (1 + 90) / 2 s are most now.
  EXPECT_THAT(Started(At(scheduler, 6, Done(6, 90))), ElementsAre("s1c0r2 w1"));
  EXPECT_THAT(Started(At(scheduler, 7, Done(7, 90))), ElementsAre("s1c1r2 w1"));
}

// What is no time is not counted: "a" has 10 s of one member, "b" 6 + 6 s of two.
TEST(Placement, KnowsAClassByTheMeanOfTheTimesThatWereTold) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 3, {"a", "b"})));
  (void)At(scheduler, 0, Join(1, 1, "u1", {"a", "b"}));
  (void)At(scheduler, 1, Done(1, 10));
  (void)At(scheduler, 2, Done(2, 6));
  (void)At(scheduler, 3, Done(3, -1e9));

  EXPECT_THAT(Started(At(scheduler, 4, Done(4, 6))), ElementsAre("s1c0r2 w1"));
}

TEST(Placement, LetsSweepsTakeTurnsAndAnEarlierReplicateGoFirst) {
  Scheduler scheduler{Options{}};
  (void)At(scheduler, 0, Submit(MakeSweep({"algo"}, 2, {"fast", "slow"})));
  (void)At(scheduler, 0, Submit(MakeSweep({"impl"}, 1, {"slow"})));
  (void)At(scheduler, 0, Join(1, 1, "u1", {"fast", "slow"}));
  std::vector<std::string> order;
  for (uint64_t lease = 1; lease <= 4; ++lease) {
    const bool slow = lease >= 2;
    for (const std::string& s : Started(At(scheduler, 1, Done(lease, slow ? 9 : 1)))) {
      order.push_back(s);
    }
  }
  EXPECT_THAT(order, ElementsAre("s2c0r0 w1", "s1c1r0 w1", "s1c1r1 w1", "s1c0r1 w1"));
}

}  // namespace
}  // namespace noisefloor::scheduler
