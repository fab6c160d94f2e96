// Shares of the fleet, and changes of many members in pieces.
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/scheduler/rate.h"
#include "coordinator/scheduler/turns.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Started;
using test::Submit;
using test::SubmitFor;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Turns, GoByPriorityThenOwnerThenSweep) {
  Turns turns;
  turns.Insert({0, 0, {3, LeaseId{9}}, SweepId{1}, {3, LeaseId{9}}});
  turns.Insert({0, 1, {2, LeaseId{8}}, SweepId{2}, {2, LeaseId{8}}});
  turns.Insert({0, 1, {2, LeaseId{8}}, SweepId{3}, {0, LeaseId{0}}});
  turns.Insert({5, 0, {3, LeaseId{9}}, SweepId{4}, {0, LeaseId{0}}});
  const auto order = [&turns] {
    std::vector<uint64_t> sweeps;
    for (Turns::Cursor at(turns); !at.ended(); at.Next()) sweeps.push_back(at.sweep().value);
    return sweeps;
  };
  EXPECT_THAT(order(), ElementsAre(4, 3, 2, 1));

  turns.MoveOwner(1, {2, LeaseId{8}}, {4, LeaseId{10}});
  EXPECT_THAT(order(), ElementsAre(4, 1, 3, 2));
  turns.MoveSweep({0, 1, {4, LeaseId{10}}, SweepId{3}, {0, LeaseId{0}}}, {9, LeaseId{11}});
  EXPECT_THAT(order(), ElementsAre(4, 1, 2, 3));
  turns.Erase({5, 0, {3, LeaseId{9}}, SweepId{4}, {0, LeaseId{0}}});
  turns.Erase({0, 0, {3, LeaseId{9}}, SweepId{1}, {3, LeaseId{9}}});
  EXPECT_THAT(order(), ElementsAre(2, 3));
}

TEST(Rate, CountsTheLastTenMinutesByTheHour) {
  Rate rate;
  EXPECT_EQ(rate.PerHour(kT0), 0);
  rate.Begin(kT0);
  for (int i = 0; i < 5; ++i) rate.Note(kT0 + absl::Seconds(10));
  EXPECT_EQ(rate.PerHour(kT0 + absl::Seconds(30)), 5 * 60) << "over a minute at least";
  EXPECT_EQ(rate.PerHour(kT0 + absl::Minutes(5)), 5 * 12);
  rate.Note(kT0 + absl::Minutes(8));
  EXPECT_EQ(rate.PerHour(kT0 + absl::Minutes(9)), 6 * 60.0 / 9);
  EXPECT_EQ(rate.PerHour(kT0 + absl::Minutes(15)), 1 * 6) << "the first are too long ago";
  EXPECT_EQ(rate.PerHour(kT0 + absl::Minutes(30)), 0);
}

TEST(Rate, OneAMinuteIsSixtyAnHourHoweverLongItGoesOn) {
  Rate rate;
  rate.Begin(kT0);
  for (int minute = 0; minute < 20; ++minute) rate.Note(kT0 + absl::Minutes(minute));
  EXPECT_EQ(rate.PerHour(kT0 + absl::Minutes(19)), 60);
}

TEST(Rate, BeginsOnce) {
  Rate rate;
  rate.Begin(kT0);
  rate.Note(kT0 + absl::Minutes(1));
  rate.Begin(kT0 + absl::Minutes(4));
  EXPECT_DOUBLE_EQ(rate.PerHour(kT0 + absl::Minutes(5)), 12);
}

TEST(Sharing, WhenTheLastWillEndIsSaidInMinutesBelowTwoHours) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 10)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  const absl::Time later = kT0 + absl::Seconds(5);  // Counted over a minute.
  (void)scheduler.Step(Finish(1, 1), later);
  EXPECT_THAT(scheduler.ExplainSweep(SweepId{1}, later).value_or(""),
              testing::HasSubstr("60 of its members an hour end at present: the last in about 9 "
                                 "min."));
}

TEST(Sharing, OneSlotIsTakenInTurnsByManyOwners) {
  Scheduler scheduler{Options{}};
  for (const char* owner : {"ada", "grace", "emmy"}) {
    (void)scheduler.Step(SubmitFor(owner, 10), kT0);
  }
  std::vector<std::string> order = Started(scheduler.Step(Join(1, 1, "u"), kT0));
  for (uint64_t lease = 1; lease <= 5; ++lease) {
    for (const std::string& one : Started(scheduler.Step(Finish(1, lease), kT0))) {
      order.push_back(one);
    }
  }
  EXPECT_THAT(order, ElementsAre("s1c0r0 w1", "s2c0r0 w1", "s3c0r0 w1", "s1c0r1 w1", "s2c0r1 w1",
                                 "s3c0r1 w1"));
}

TEST(Sharing, AnOwnerWithManySweepsHasNoMoreThanOneWithOne) {
  Scheduler scheduler{Options{}};
  for (int i = 0; i < 9; ++i) (void)scheduler.Step(SubmitFor("ada", 100), kT0);
  (void)scheduler.Step(SubmitFor("grace", 100), kT0);
  const auto leases = Of<SendStart>(scheduler.Step(Join(1, 20, "u"), kT0));
  std::map<uint64_t, int> running;
  for (const SendStart& start : leases) ++running[start.member.sweep.value];
  ASSERT_THAT(leases, SizeIs(20));
  EXPECT_EQ(running[10], 10) << "grace's";
  for (uint64_t sweep = 1; sweep <= 9; ++sweep) EXPECT_NEAR(running[sweep], 10 / 9.0, 1) << sweep;
}

// In pieces: while the first ones wait again already, the failed ones have yet to.
TEST(Sharing, ARetryOfASweepThatHadStoppedIsNotStoppedByWhatItRetries) {
  for (const bool unlimited_meanwhile : {false, true}) {
    Scheduler scheduler{Options{.most_at_once = 2, .most_attempts = 1}};
    SweepSubmitted submitted = SubmitFor("ada", 200);
    submitted.max_failures = 2;
    (void)scheduler.Step(submitted, kT0);
    (void)scheduler.Step(Join(1, 2, "u"), kT0);
    for (uint64_t lease = 1; lease <= 2; ++lease) {
      (void)scheduler.Step(test::Fail(1, lease, CauseClass::kBug), kT0);
    }
    const auto finish = [&] {
      for (int i = 0; i < 1000; ++i) {
        if (!scheduler.Step(Continue{}, kT0).more) return;
      }
      ADD_FAILURE() << "it never ends";
    };
    if (unlimited_meanwhile) {
      (void)scheduler.Step(SweepUpdated{.request = 5, .sweep = SweepId{1}, .max_failures = 0}, kT0);
    }
    finish();
    const uint32_t cancelled = scheduler.CountsOf(SweepId{1})->In(MemberState::kCancelled);
    if (!unlimited_meanwhile) EXPECT_GT(cancelled, 190u);

    (void)scheduler.Step(SweepRetried{7, SweepId{1}}, kT0);
    finish();

    const SweepCounts counts = *scheduler.CountsOf(SweepId{1});
    EXPECT_EQ(counts.In(MemberState::kWaiting) + counts.In(MemberState::kLeased), 200u);
    EXPECT_EQ(counts.In(MemberState::kCancelled), 0u);
  }
}

// What a decision costs must not grow with sweeps or owners that wait.
TEST(Sharing, ALifeCostsTheSameBesideAThousandSweepsOfAHundredOwners) {
  const auto cost = [](int sweeps) {
    Scheduler scheduler{Options{}};
    for (int i = 0; i < sweeps; ++i) {
      (void)scheduler.Step(SubmitFor("owner" + std::to_string(i % 100), 5), kT0);
    }
    (void)scheduler.Step(Join(1, 1, "u"), kT0);
    for (uint64_t lease = 1; lease <= 2u * sweeps; ++lease) {
      (void)scheduler.Step(Finish(1, lease), kT0);  // Every cell is pinned after these.
    }
    const uint64_t before = scheduler.looked_at();
    for (uint64_t lease = 1; lease <= 100; ++lease) {
      (void)scheduler.Step(Finish(1, 2u * sweeps + lease), kT0);
    }
    return static_cast<double>(scheduler.looked_at() - before) / 100;
  };
  EXPECT_LE(cost(1000), cost(100) + 0.01);
}

TEST(Sharing, APausedSweepKeepsItsPlaceAndARestartKnowsIt) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 3), kT0);
  SweepUpdated pause{.request = 1, .sweep = SweepId{1}, .paused = true};
  (void)scheduler.Step(pause, kT0);
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  EXPECT_THAT(Started(restored.Step(Join(1, 1, "u"), kT0)), IsEmpty());
  pause.paused = false;
  EXPECT_THAT(Started(restored.Step(pause, kT0)), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
}

// A paused sweep waits for what a cell is pinned to while slots are given out.
TEST(Sharing, WhatIsPinnedMeanwhileHasItsTurnAmongThoseOfTheSameStep) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 2), kT0);
  EXPECT_THAT(Started(scheduler.Step(Join(1, 1, "u1"), kT0)), ElementsAre("s1c0r0 w1"));
  (void)scheduler.Step(SweepUpdated{.request = 1, .sweep = SweepId{1}, .paused = true}, kT0);
  SweepSubmitted two_cells = Submit(MakeSweep({"algo", "impl"}, 3));
  two_cells.caller = "ada";
  (void)scheduler.Step(two_cells, kT0);
  (void)scheduler.Step(SubmitFor("grace", 3), kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(2, 3, "u2"), kT0)),
              ElementsAre("s3c0r0 w2", "s2c0r0 w2", "s3c0r1 w2"));
}

TEST(Sharing, WhatWaitsOrRunsIsNotArchived) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(SubmitFor("ada", 2), kT0);
  const SweepUpdated archive{.request = 1, .sweep = SweepId{1}, .archived = true};
  const auto refused = [&] {
    const auto errors = Of<AnswerError>(scheduler.Step(archive, kT0));
    return errors.empty() ? "" : errors[0].message;
  };
  EXPECT_THAT(refused(), testing::HasSubstr("2 members of s1 wait or run"));
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(Finish(1, 1), kT0);
  EXPECT_THAT(refused(), testing::HasSubstr("1 member of s1 wait or run"));
  (void)scheduler.Step(Finish(1, 2), kT0);
  EXPECT_EQ(refused(), "");
  EXPECT_TRUE(scheduler.CountsOf(SweepId{1})->sharing.archived);
}

// Worker 1, with one slot of two devices.
WorkerConnected JoinWithPair() {
  auto inventory = std::make_shared<Inventory>();
  inventory->devices = {{"GPU-1", "model", 0, "", ""}, {"GPU-2", "model", 0, "", ""}};
  inventory->offers = {{"cpu", "torch", "f1", "b", IdentityOf(*OwnSchema())}};
  inventory->slots.resize(1);
  inventory->slots[0].devices = {0, 1};
  inventory->slots[0].offers = {0};
  WorkerConnected join = Join(1, 1, "u");
  join.inventory = inventory;
  return join;
}

TEST(WorkerUse, OfASlotWithSeveralDevicesOneIsEnough) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(JoinWithPair(), kT0);
  WorkerUpdated use{.request = 1, .worker = "w1", .unit = "GPU-2", .quarantined = true};
  (void)scheduler.Step(use, kT0);

  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0)), IsEmpty());
  use.quarantined = false;
  EXPECT_THAT(Started(scheduler.Step(use, kT0)), ElementsAre("s1c0r0 w1"));
}

TEST(WorkerUse, WhatIsReleasedHasNotFailed) {
  Options options;
  options.quarantine_after = 1;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  const Effects lost = scheduler.Step(test::Fail(1, 1, CauseClass::kLostDevice), kT0);
  ASSERT_THAT(Started(lost), IsEmpty()) << "it rests";

  const WorkerUpdated use{.request = 1, .worker = "w1", .quarantined = false};
  EXPECT_THAT(Started(scheduler.Step(use, kT0)), SizeIs(1));
}

TEST(WorkerUse, ASlotHasNotFailedWhenADeviceOfItIsReleased) {
  Options options;
  options.quarantine_after = 1;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 3)), kT0);
  (void)scheduler.Step(JoinWithPair(), kT0);
  const Effects lost = scheduler.Step(test::Fail(1, 1, CauseClass::kLostDevice), kT0);
  ASSERT_THAT(Started(lost), IsEmpty()) << "it rests";

  const WorkerUpdated use{.request = 1, .worker = "w1", .unit = "GPU-2", .quarantined = false};
  EXPECT_THAT(Started(scheduler.Step(use, kT0)), SizeIs(1));
}

// The other has its name from a time in which this one was away.
TEST(WorkerUse, OfTwoOfOneNameTheOneThatIsConnectedIsMeant) {
  Scheduler scheduler{Options{}};
  WorkerConnected first = Join(1, 1, "u1");
  WorkerConnected second = Join(2, 1, "u2");
  first.name = second.name = "box";
  (void)scheduler.Step(first, kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  (void)scheduler.Step(second, kT0);
  (void)scheduler.Step(SessionLost{SessionId{2}}, kT0);
  first.session = SessionId{3};
  (void)scheduler.Step(first, kT0);

  const WorkerUpdated drain{.request = 1, .worker = "box", .drained = true};
  const auto kept = test::Of<KeepWorkerUse>(scheduler.Step(drain, kT0));

  ASSERT_THAT(kept, SizeIs(1));
  EXPECT_EQ(kept[0].worker, WorkerId{1});
  EXPECT_THAT(Started(scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0)), IsEmpty());
}

// A sweep of which many members have rows, cancelled as a whole.
TEST(Selections, ManyMembersAreChangedInPieces) {
  constexpr uint32_t kMembers = 5000;
  Options options;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, kMembers)), kT0);
  Effects effects = scheduler.Step(Join(1, kMembers - 1000, "u"), kT0);
  while (effects.more) effects = scheduler.Step(Continue{}, kT0);

  size_t pieces = 1;
  size_t cancelled = 0;
  effects = scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);
  EXPECT_THAT(Of<SetUntouched>(effects), SizeIs(1)) << "first: nobody is to lease them";
  EXPECT_THAT(Of<AnswerCount>(effects), IsEmpty()) << "it is not done yet";
  while (true) {
    cancelled += Of<SetMemberState>(effects).size();
    ASSERT_LE(Of<SetMemberState>(effects).size(), options.most_at_once);
    EXPECT_THAT(Started(effects), IsEmpty());
    if (!effects.more) break;
    effects = scheduler.Step(Continue{}, kT0);
    ++pieces;
  }

  ASSERT_THAT(Of<AnswerCount>(effects), SizeIs(1));
  EXPECT_EQ(Of<AnswerCount>(effects)[0].members, kMembers);
  EXPECT_EQ(cancelled, kMembers - 1000);
  EXPECT_GE(pieces, 8u);
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kCancelled), kMembers);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// Members with rows of their own in every cell: each is looked at from its first one on.
TEST(Selections, EveryCellIsWalkedFromItsBeginning) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"control", "algo", "impl"}, 2)), kT0);
  ASSERT_THAT(Started(scheduler.Step(Join(1, 6, "u"), kT0)), SizeIs(6));

  const Effects effects = scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);

  EXPECT_EQ(Of<AnswerCount>(effects).at(0).members, 6u);
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kCancelled), 6u);
}

TEST(Selections, TwoChangesAreDoneOneAfterTheOther) {
  Options options;
  options.most_at_once = 2;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 6)), kT0);
  Effects effects = scheduler.Step(Join(1, 6, "u"), kT0);
  while (effects.more) effects = scheduler.Step(Continue{}, kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);

  std::vector<std::pair<uint64_t, uint32_t>> answers;
  const auto note = [&answers](const Effects& told) {
    for (const AnswerCount& one : Of<AnswerCount>(told)) {
      answers.emplace_back(one.request, one.members);
    }
  };
  note(scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0));
  effects = scheduler.Step(SweepRetried{2, SweepId{1}}, kT0);
  note(effects);
  while (effects.more) {
    effects = scheduler.Step(Continue{}, kT0);
    note(effects);
  }

  EXPECT_THAT(answers, ElementsAre(std::pair(1, 6), std::pair(2, 6)));
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kWaiting), 6u);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

}  // namespace
}  // namespace noisefloor::scheduler
