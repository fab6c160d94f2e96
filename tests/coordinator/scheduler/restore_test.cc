// Queries of the scheduler, and what survives a restart beyond the scenarios.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Submit;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(Restore, FindsTheSweepOfARequestAgain) {
  Scheduler scheduler{Options{}};
  SweepSubmitted submit = Submit(MakeSweep({"algo"}, 2));
  submit.request_id = "abc";
  (void)scheduler.Step(submit, kT0);

  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  const auto answers = test::Of<AnswerSubmit>(restored.Step(submit, kT0));

  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].sweep, SweepId{1});
  EXPECT_TRUE(answers[0].resumed);
}

TEST(Restore, GivesLiveLeasesTheirWholeTimeToComeBack) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  const absl::Time later = kT0 + absl::Hours(1);
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), later);

  for (int i = 1; i < 15; ++i) (void)restored.Step(Tick{}, later + absl::Seconds(i));
  EXPECT_THAT(restored.Running(), SizeIs(1));
  (void)restored.Step(Tick{}, later + absl::Seconds(15));
  EXPECT_THAT(restored.Running(), IsEmpty());
}

TEST(Restore, RemembersHowOftenAMemberFailed) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  AttemptFinished failed = Finish(1, 1);
  failed.outcome.kind = Outcome::Kind::kFailed;
  failed.outcome.cause = CauseClass::kBug;
  (void)scheduler.Step(failed, kT0);

  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  WorkerConnected back = Join(1, 1, "u1");
  back.held = {{LeaseId{2}, 0, 0, 0}};
  (void)restored.Step(back, kT0);
  failed.lease = LeaseId{2};
  (void)restored.Step(failed, kT0);

  EXPECT_EQ(restored.Durable().sweeps[0].cells[0].members[0].state, MemberState::kFailed);
  EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
}

// Progress and the time that is left are told from them.
TEST(Restore, CountsWhatASweepCameToAsBefore) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 4)), kT0);
  (void)scheduler.Step(Join(1, 2, "u1"), kT0);
  AttemptFinished done = Finish(1, 1);
  done.outcome.train_seconds = 12;
  (void)scheduler.Step(done, kT0);
  (void)scheduler.Step(test::Fail(1, 2, CauseClass::kBug), kT0);
  (void)scheduler.Step(test::Fail(1, 3, CauseClass::kBug), kT0);
  for (const uint64_t lease : {4u, 5u}) (void)scheduler.Step(Finish(1, lease), kT0);
  const SweepCounts before = *scheduler.CountsOf(SweepId{1});
  ASSERT_GE(before.retries, 1u) << "or this shows nothing";

  const Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  const SweepCounts after = *restored.CountsOf(SweepId{1});

  EXPECT_EQ(after.cells, 1u);
  EXPECT_EQ(after.members, 4u);
  EXPECT_EQ(after.by_state, before.by_state);
  EXPECT_EQ(after.retries, before.retries);
  EXPECT_EQ(after.times.count, 1u);
  EXPECT_EQ(after.times.sum, 12);
}

std::vector<WorkerId> ForgottenAt(Scheduler& scheduler, absl::Time now) {
  std::vector<WorkerId> forgotten;
  for (const ForgetWorker& write : test::Of<ForgetWorker>(scheduler.Step(Tick{}, now))) {
    forgotten.push_back(write.worker);
  }
  return forgotten;
}

std::vector<std::pair<uint64_t, absl::Time>> SeenAt(Scheduler& scheduler, absl::Time now) {
  std::vector<std::pair<uint64_t, absl::Time>> seen;
  for (const KeepSeen& write : test::Of<KeepSeen>(scheduler.Step(Tick{}, now))) {
    seen.emplace_back(write.worker.value, write.seen);
  }
  return seen;
}

// Else one that had been there for days and went just before a restart would be forgotten at once.
TEST(Restore, KnowsToTheHourWhenAWorkerWasHeard) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  const auto beat = [&](absl::Duration after) {
    (void)scheduler.Step(Heartbeat{SessionId{1}, {}}, kT0 + after);
    return SeenAt(scheduler, kT0 + after);
  };
  EXPECT_THAT(beat(absl::Minutes(59)), IsEmpty());
  const absl::Duration later = absl::Minutes(60) + absl::Nanoseconds(1);
  EXPECT_THAT(beat(later), ElementsAre(Pair(1, kT0 + absl::Minutes(60)))) << "as it is kept";
  EXPECT_THAT(beat(absl::Minutes(119)), IsEmpty());
  EXPECT_THAT(beat(absl::Minutes(120)), SizeIs(1));
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0 + absl::Minutes(130));
  EXPECT_THAT(SeenAt(scheduler, kT0 + absl::Minutes(189)), IsEmpty()) << "it may be back";
  EXPECT_THAT(SeenAt(scheduler, kT0 + absl::Minutes(190)),
              ElementsAre(Pair(1, kT0 + absl::Minutes(130))));
  EXPECT_THAT(SeenAt(scheduler, kT0 + absl::Minutes(300)), IsEmpty());
}

// Where the coordinator is restarted every day nobody would ever be.
TEST(Restore, GoesOnWithTheTimeThatWorkersHaveBeenGone) {
  const auto at = [](double hours) { return kT0 + hours * absl::Hours(1); };
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);
  EXPECT_THAT(SeenAt(scheduler, at(1)), IsEmpty()) << "nothing was heard since";
  (void)scheduler.Step(SessionLost{SessionId{1}}, at(1.5));
  (void)scheduler.Step(SessionLost{SessionId{2}}, at(1.75));
  EXPECT_THAT(SeenAt(scheduler, at(1.75)), ElementsAre(Pair(1, at(1.5)), Pair(2, at(1.75))));
  WorkerConnected back = Join(2, 1, "u2");
  back.session = SessionId{3};
  (void)scheduler.Step(back, at(2));
  EXPECT_THAT(SeenAt(scheduler, at(3)), IsEmpty()) << "once";

  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), at(20));
  EXPECT_THAT(ForgottenAt(restored, at(25)), IsEmpty());
  restored = Scheduler::Restore({}, restored.Durable(), at(24.75));
  EXPECT_THAT(ForgottenAt(restored, at(25.5)), IsEmpty());
  EXPECT_THAT(ForgottenAt(restored, at(25.75)), ElementsAre(WorkerId{1}));
  EXPECT_THAT(ForgottenAt(restored, at(25.875)), IsEmpty());
  EXPECT_THAT(ForgottenAt(restored, at(26)), ElementsAre(WorkerId{2}));
  EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
}

TEST(Restore, LeavesEveryWorkerAnHourToComeBack) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);
  const absl::Time later = kT0 + absl::Hours(49);
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), later);

  EXPECT_THAT(ForgottenAt(restored, later), IsEmpty());
  EXPECT_THAT(ForgottenAt(restored, later + absl::Minutes(59)), IsEmpty());
  (void)restored.Step(Join(1, 1, "u1"), later + absl::Minutes(59));
  EXPECT_THAT(ForgottenAt(restored, later + absl::Hours(1)), ElementsAre(WorkerId{2}));
  EXPECT_EQ(restored.Workers().at(0).worker, WorkerId{1});
}

TEST(Restore, CountsFromItWhereAWorkerHoldsALease) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  const absl::Time later = kT0 + absl::Hours(24 * 40);
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), later);
  for (int i = 1; i <= 15; ++i) (void)restored.Step(Tick{}, later + absl::Seconds(i));
  ASSERT_THAT(restored.Running(), IsEmpty());

  EXPECT_THAT(ForgottenAt(restored, later + absl::Hours(24 * 30 - 1)), IsEmpty());
  EXPECT_THAT(ForgottenAt(restored, later + absl::Hours(24 * 30)), ElementsAre(WorkerId{1}));
}

TEST(Workers, ThatAreNewAreTurnedAwayWhereTooManyAreKnown) {
  RecoveredState recovered;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    recovered.workers.push_back(
        {.worker = WorkerId{i}, .name = "w" + std::to_string(i), .identity = i, .seen = kT0});
  }
  recovered.last_worker = WorkerId{100'000};
  Scheduler scheduler = Scheduler::Restore({}, recovered, kT0);

  const auto refused = test::Of<CloseSession>(scheduler.Step(Join(100'001, 1, "u"), kT0));
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].reason,
            "100,000 workers are known, as many as may be; one that is gone is forgotten after a "
            "day, or after 30 where it may still bring a late result");
  EXPECT_THAT(test::Of<SendWelcome>(scheduler.Step(Join(1, 1, "u"), kT0)), SizeIs(1)) << "known";
  size_t forgotten = 0;
  for (size_t more = 1; more > 0; forgotten += more) {
    more = ForgottenAt(scheduler, kT0 + absl::Hours(24)).size();
    EXPECT_LE(more, Options().most_writes) << "in one turn";
  }
  EXPECT_EQ(forgotten, 99'999u);
  EXPECT_THAT(test::Of<SendWelcome>(scheduler.Step(Join(100'001, 1, "u"), kT0 + absl::Hours(24))),
              SizeIs(1));
}

TEST(Tick, GivesBackTheTimeThatTheCoordinatorStoodStill) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Tick{}, kT0);

  (void)scheduler.Step(Tick{}, kT0 + absl::Minutes(10));
  EXPECT_THAT(scheduler.Running(), SizeIs(1));
}

TEST(Queries, TellWhatRunsAndWhatIsOffered) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1", {"cpu", "avx2"}), kT0);
  (void)scheduler.Step(Heartbeat{SessionId{1}, {{LeaseId{1}, 0, 30, 100}}}, kT0);

  EXPECT_EQ(scheduler.FindLease(LeaseId{1})->step, 30);
  EXPECT_FALSE(scheduler.FindLease(LeaseId{2}));
  EXPECT_THAT(scheduler.OfferedClasses(), ElementsAre("avx2", "cpu"));
  EXPECT_THAT(scheduler.OfferedStacks(), ElementsAre("torch"));
  ASSERT_THAT(scheduler.Workers(), SizeIs(1));
  EXPECT_TRUE(scheduler.Workers()[0].connected);
  EXPECT_THAT(scheduler.Workers()[0].running, SizeIs(1));

  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  EXPECT_THAT(scheduler.OfferedClasses(), IsEmpty());
  EXPECT_FALSE(scheduler.Workers()[0].connected);
}

TEST(MemberStateName, GoesBothWays) {
  for (const MemberState state :
       {MemberState::kWaiting, MemberState::kLeased, MemberState::kDone, MemberState::kDiverged,
        MemberState::kFailed, MemberState::kCancelled}) {
    EXPECT_EQ(ParseMemberState(Name(state)), state);
  }
  EXPECT_EQ(ParseMemberState("asleep"), std::nullopt);
}

TEST(Attempt, IsRefusedWhenItsRecordsNeverCome) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  AttemptFinished event = Finish(1, 1);
  event.outcome.record_batches = 4;

  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(test::Of<SendRecordsKept>(scheduler.Step(event, kT0)), SizeIs(1));
  }
  const auto settled = test::Of<SendSettled>(scheduler.Step(event, kT0));

  ASSERT_THAT(settled, SizeIs(1));
  EXPECT_EQ(settled[0].reason, "never complete: 0 of 4 record batches are stored");
}

// A slow line brings them one by one, and the end again with each.
TEST(Attempt, IsTakenWhenItsRecordsComeSlowly) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  AttemptFinished event = Finish(1, 1);
  event.outcome.record_batches = 4;
  for (uint64_t batch = 1; batch <= 4; ++batch) {
    for (int i = 0; i < 15; ++i) (void)scheduler.Step(event, kT0);
    (void)scheduler.Step(
        RecordsArrived{SessionId{1}, LeaseId{1}, {batch, {Record{.metric = "loss", .value = 1}}}},
        kT0);
  }
  const auto settled = test::Of<SendSettled>(scheduler.Step(event, kT0));
  ASSERT_THAT(settled, SizeIs(1));
  EXPECT_TRUE(settled[0].accepted) << settled[0].reason;
}

}  // namespace
}  // namespace noisefloor::scheduler
