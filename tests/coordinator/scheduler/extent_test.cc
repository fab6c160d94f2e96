// Sweeps that are extended, deleted and limited by class.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/scheduler/deletion.h"
#include "coordinator/sweep/extend.h"
#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Of;
using test::Settle;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr SweepId kSweep{1};

// What the service makes of a wish.
SweepExtended ExtendTo(const Scheduler& scheduler, const sweep::Extension& wish,
                       SweepId sweep = kSweep) {
  SweepExtended event;
  event.request = 9;
  event.sweep = sweep;
  for (const RecoveredSweep& one : scheduler.Durable().sweeps) {
    if (one.id != sweep) continue;
    event.from_sha256 = one.specification_sha256;
    event.content = std::get<sweep::Sweep>(sweep::Extend(one.content, wish));
    event.specification_sha256 = sweep::CanonicalText(event.content);
  }
  return event;
}

uint32_t CountOf(const Scheduler& scheduler, MemberState state) {
  return scheduler.CountsOf(kSweep)->In(state);
}

TEST(Extending, TrainsOnlyWhatIsNewAndKeepsWhatIsThere) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"control", "algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u", {"cpu", "gpu"}), kT0);
  (void)scheduler.Step(Finish(1, 1), kT0);
  (void)scheduler.Step(Finish(1, 2), kT0);
  ASSERT_EQ(CountOf(scheduler, MemberState::kDone), 2u);
  const RecoveredState before = scheduler.Durable();

  const Effects effects =
      scheduler.Step(ExtendTo(scheduler, {.replicates = 2, .hardware = {"gpu"}}), kT0);

  ASSERT_THAT(Of<AnswerCount>(effects), SizeIs(1));
  EXPECT_EQ(Of<AnswerCount>(effects)[0].members, 6u);
  EXPECT_THAT(Of<SetMemberState>(effects), SizeIs(1)) << "the lease alone: the rest are no rows";
  EXPECT_EQ(CountOf(scheduler, MemberState::kDone), 2u);
  EXPECT_EQ(scheduler.CountsOf(kSweep)->members, 8u);
  EXPECT_EQ(scheduler.CountsOf(kSweep)->cells, 4u);
  const RecoveredState after = scheduler.Durable();
  for (uint32_t cell = 0; cell < 2; ++cell) {
    const RecoveredCell& kept = after.sweeps[0].cells[cell];
    EXPECT_EQ(kept.At(0).accepted, before.sweeps[0].cells[cell].At(0).accepted);
    EXPECT_EQ(kept.fingerprint, before.sweeps[0].cells[cell].fingerprint);
    EXPECT_EQ(kept.cell.hardware, "cpu");
  }
  EXPECT_EQ(after.sweeps[0].cells[2].cell.hardware, "gpu");
  std::vector<std::string> started = Started(effects);
  for (uint64_t lease = 3; lease <= 8; ++lease) {
    for (const std::string& one : Started(scheduler.Step(Finish(1, lease), kT0))) {
      started.push_back(one);
    }
  }
  EXPECT_THAT(started, testing::UnorderedElementsAre("s1c2r0 w1", "s1c3r0 w1", "s1c0r1 w1",
                                                     "s1c1r1 w1", "s1c2r1 w1", "s1c3r1 w1"));
  EXPECT_EQ(CountOf(scheduler, MemberState::kDone), 8u);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

TEST(Extending, WhatItsUntilHasDecidedIsKeptSaidAndTrained) {
  Scheduler scheduler{Options{}};
  SweepSubmitted submit = Submit(MakeSweep({"algo"}, 5));
  submit.sweep.until = sweep::Until{sweep::UntilFigure::kTop1, 0.01, 20};
  (void)scheduler.Step(submit, kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  for (uint64_t lease = 1; lease <= 5; ++lease) (void)scheduler.Step(Finish(1, lease), kT0);
  ASSERT_EQ(CountOf(scheduler, MemberState::kDone), 5u);
  EXPECT_TRUE(scheduler.CountsOf(kSweep)->undecided);
  const SweepUpdated archive{.request = 1, .sweep = kSweep, .archived = true};
  EXPECT_THAT(Of<AnswerError>(scheduler.Step(archive, kT0)).at(0).message,
              HasSubstr("s1 has not ended"));
  EXPECT_THAT(*scheduler.ExplainSweep(kSweep, kT0),
              HasSubstr("Its members have ended; their spread"));

  const sweep::Sweep kept = scheduler.Durable().sweeps[0].content;
  SweepExtended event;
  event.request = 9;
  event.sweep = kSweep;
  event.from_sha256 = scheduler.Durable().sweeps[0].specification_sha256;
  event.content = sweep::Settled(kept, {{"algo", 7}});
  event.specification_sha256 = sweep::CanonicalText(event.content);
  event.settled = "algo takes 7 replicates";
  const Effects effects = scheduler.Step(event, kT0);

  EXPECT_EQ(scheduler.CountsOf(kSweep)->members, 7u);
  EXPECT_FALSE(scheduler.CountsOf(kSweep)->undecided);
  EXPECT_THAT(Started(effects), ElementsAre("s1c0r5 w1"));
  EXPECT_EQ(
      Of<AppendEvent>(effects).at(0).text,
      "s1 extended by 2 members, 0 new cells: 7 members in 1 cell, by its `until`: algo takes 7 "
      "replicates");
  const Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  EXPECT_FALSE(restored.CountsOf(kSweep)->undecided);
  EXPECT_EQ(restored.CountsOf(kSweep)->members, 7u);
}

// What runs again will say more of how far they spread.
TEST(Extending, WhatItsUntilHasDecidedIsNotTakenWhereMembersRunAgain) {
  Scheduler scheduler{Options{}};
  SweepSubmitted submit = Submit(MakeSweep({"algo"}, 5));
  submit.sweep.until = sweep::Until{sweep::UntilFigure::kTop1, 0.01, 20};
  (void)scheduler.Step(submit, kT0);
  (void)scheduler.Step(SweepCancelled{1, kSweep}, kT0);
  SweepExtended event;
  event.request = 9;
  event.sweep = kSweep;
  event.from_sha256 = scheduler.Durable().sweeps[0].specification_sha256;
  event.content = sweep::Settled(scheduler.Durable().sweeps[0].content, {});
  event.specification_sha256 = sweep::CanonicalText(event.content);
  event.settled = "some of them were cancelled";
  (void)scheduler.Step(SweepRetried{2, kSweep}, kT0);

  const Effects refused = scheduler.Step(event, kT0);

  ASSERT_THAT(Of<AnswerError>(refused), SizeIs(1));
  EXPECT_EQ(Of<AnswerError>(refused)[0].code, absl::StatusCode::kAborted);
  EXPECT_TRUE(scheduler.CountsOf(kSweep)->undecided);
}

TEST(Extending, WhatItsUntilHasDecidedPardonsNoFailures) {
  Options rules;
  Scheduler scheduler{rules};
  SweepSubmitted submit = Submit(MakeSweep({"algo"}, 5));
  submit.sweep.until = sweep::Until{sweep::UntilFigure::kTop1, 0.01, 20};
  submit.max_failures = 2;
  (void)scheduler.Step(submit, kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  for (uint64_t lease = 1; lease <= 3; ++lease) (void)scheduler.Step(Finish(1, lease), kT0);
  const auto settle = [&](uint32_t replicates) {
    SweepExtended event;
    event.request = 9;
    event.sweep = kSweep;
    event.from_sha256 = scheduler.Durable().sweeps[0].specification_sha256;
    event.content = sweep::Settled(scheduler.Durable().sweeps[0].content, {{"algo", replicates}});
    event.specification_sha256 = sweep::CanonicalText(event.content);
    event.settled = "algo takes more";
    return scheduler.Step(event, kT0);
  };
  // Members run again: what was decided was decided without them.
  EXPECT_EQ(Of<AnswerError>(settle(7)).at(0).code, absl::StatusCode::kAborted);
  uint64_t lease = 4;
  while (CountOf(scheduler, MemberState::kFailed) < 2 && lease < 40) {
    (void)scheduler.Step(Fail(1, lease++, CauseClass::kBadSpecification), kT0);
  }
  ASSERT_EQ(CountOf(scheduler, MemberState::kFailed), 2u);
  (void)settle(7);
  Settle(scheduler);
  EXPECT_EQ(CountOf(scheduler, MemberState::kWaiting), 0u);
  EXPECT_EQ(CountOf(scheduler, MemberState::kLeased), 0u);
  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 2u);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

TEST(Extending, LeavesWhatWasCancelledCancelledInPieces) {
  constexpr uint32_t kMembers = 2000;
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"control", "algo"}, kMembers)), kT0);
  (void)scheduler.Step(SweepCancelled{1, kSweep}, kT0);
  Settle(scheduler);
  Effects effects =
      scheduler.Step(ExtendTo(scheduler, {.replicates = kMembers + 5, .plans = {"algo"}}), kT0);
  size_t rows = 0;
  while (true) {
    const size_t of_piece = Of<SetMemberState>(effects).size();
    ASSERT_LE(of_piece, Options{}.most_at_once);
    rows += of_piece;
    if (!Of<AnswerCount>(effects).empty()) break;
    ASSERT_TRUE(effects.more);
    // In between all is as it was, for whoever starts from the store.
    const Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
    EXPECT_EQ(CountOf(restored, MemberState::kCancelled), 2 * kMembers);
    effects = scheduler.Step(Continue{}, kT0);
  }

  EXPECT_EQ(rows, kMembers) << "of the plan that grew alone";
  EXPECT_EQ(Of<AnswerCount>(effects)[0].members, 5u);
  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 2 * kMembers);
  EXPECT_EQ(CountOf(scheduler, MemberState::kWaiting), 5u);
  EXPECT_THAT(Started(scheduler.Step(Join(1, 1, "u"), kT0)), ElementsAre("s1c1r2000 w1"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

TEST(Extending, IsRefusedWhenSomebodyElseWasFirst) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  const SweepExtended late = ExtendTo(scheduler, {.replicates = 3});
  (void)scheduler.Step(ExtendTo(scheduler, {.replicates = 2}), kT0);

  const auto errors = Of<AnswerError>(scheduler.Step(late, kT0));

  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].code, absl::StatusCode::kAborted);
  EXPECT_EQ(scheduler.CountsOf(kSweep)->members, 2u);
}

// Who submits it again, in whatever size, is told of the sweep that there is.
TEST(Extending, SubmissionsFindTheExtendedSweep) {
  Scheduler scheduler{Options{}};
  SweepSubmitted small = Submit(MakeSweep({"algo"}, 2));
  small.request_id = "once";
  (void)scheduler.Step(small, kT0);
  (void)scheduler.Step(ExtendTo(scheduler, {.replicates = 4}), kT0);
  const auto answer = [&](SweepSubmitted event, uint32_t replicates, bool resume, bool person) {
    event.sweep.replicates = replicates;
    event.specification_sha256 = sweep::CanonicalText(event.sweep);
    event.resume = resume;
    event.file = person ? "name: fleet" : "";
    const Effects effects = scheduler.Step(event, kT0);
    for (const AnswerError& error : Of<AnswerError>(effects)) return error.message;
    const AnswerSubmit kept = Of<AnswerSubmit>(effects).at(0);
    return ToText(kept.sweep) + (kept.resumed ? " resumed" : " new");
  };
  EXPECT_EQ(answer(small, 2, false, true), "s1 resumed") << "the same request";
  EXPECT_EQ(answer(small, 4, false, true), "s1 resumed") << "the same request, as it is now";
  EXPECT_THAT(answer(small, 3, false, true), HasSubstr("was used for s1"));
  small.request_id.clear();
  EXPECT_EQ(answer(small, 4, true, true), "s1 resumed");
  EXPECT_EQ(answer(small, 2, true, true), "s1 resumed") << "it has all of that";
  EXPECT_THAT(answer(small, 2, false, true), HasSubstr("s1 fleet has all of this and more"));
  EXPECT_THAT(answer(small, 9, true, false),
              HasSubstr("`extend s1 --replicates=9` adds what is new to it; a sweep of its own "
                        "needs another name"));
  EXPECT_THAT(answer(small, 9, false, true), HasSubstr("`extend s1 --replicates=9`"));
  EXPECT_EQ(answer(small, 4, false, true), "s2 new") << "an equal one, as ever";
  EXPECT_EQ(answer(small, 9, false, false), "s3 new") << "a program's";
  const Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  EXPECT_EQ(restored.FindRequest("once")->members, 4u);
}

TEST(Deleting, RefusesWhatHasNotEndedAndWhatIsReplayed) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 2)), kT0);
  const auto refusal = [&](uint64_t sweep) {
    const auto errors = Of<AnswerError>(scheduler.Step(SweepDeleted{1, SweepId{sweep}, ""}, kT0));
    return errors.empty() ? "" : errors[0].message;
  };
  EXPECT_THAT(refusal(1), HasSubstr("2 members of s1 wait or run: only a sweep that has ended is "
                                    "deleted; `cancel s1` ends it"));
  EXPECT_EQ(refusal(7), "there is no sweep s7");
  (void)scheduler.Step(Join(1, 2, "u"), kT0);
  (void)scheduler.Step(Finish(1, 1), kT0);
  (void)scheduler.Step(Finish(1, 2), kT0);
  const sweep::Sweep original = MakeSweep({"algo"}, 2);
  (void)scheduler.Step(
      Submit(sweep::ReplayOf(original, sweep::Expand(original)[0], {.of = {kSweep, 0, 1}})), kT0);
  (void)scheduler.Step(SweepCancelled{1, SweepId{2}}, kT0);
  EXPECT_THAT(refusal(1), HasSubstr("s2 replays s1c0r1: `delete s2` first"));
  EXPECT_EQ(refusal(2), "");
  EXPECT_EQ(refusal(1), "");
}

TEST(Deleting, LeavesNothingButItsNumberAndThoseOfItsLeases) {
  Options options;
  options.most_at_once = 2;
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 60)), kT0);
  Effects effects = scheduler.Step(Join(1, 60, "u"), kT0);
  while (effects.more) effects = scheduler.Step(Continue{}, kT0);
  (void)scheduler.Step(Fail(1, 1, CauseClass::kBadSpecification), kT0);
  for (uint64_t lease = 2; lease <= 59; ++lease) (void)scheduler.Step(Finish(1, lease), kT0);
  (void)scheduler.Step(SweepCancelled{1, kSweep}, kT0);
  Settle(scheduler);

  effects = scheduler.Step(SweepDeleted{1, kSweep, "ada"}, kT0);

  EXPECT_THAT(Of<DeleteSweep>(effects), SizeIs(1));
  EXPECT_EQ(Of<AnswerCount>(effects).at(0).members, 60u);
  EXPECT_TRUE(effects.more) << "what was known of its leases goes in pieces";
  EXPECT_FALSE(scheduler.CountsOf(kSweep).has_value());
  EXPECT_THAT(scheduler.Durable().past_leases, IsEmpty());
  Settle(scheduler);
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
  // The late end of a lease that it lost is of nothing.
  const Effects late = scheduler.Step(Finish(1, 60), kT0);
  EXPECT_THAT(Of<KeepOutcome>(late), IsEmpty());
  ASSERT_THAT(Of<SendSettled>(late), SizeIs(1));
  EXPECT_FALSE(Of<SendSettled>(late)[0].accepted);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  EXPECT_EQ(scheduler.Durable().last_sweep, SweepId{2});
  EXPECT_EQ(scheduler.Durable().last_lease, LeaseId{61});
}

// However many members it had, no piece is longer than another.
TEST(Deleting, ForgetsInPiecesOfOneSize) {
  State state;
  state.options.most_at_once = 1;
  Removed& removed = state.removed.emplace_back();
  removed.sweep.id = kSweep;
  removed.sweep.cells.resize(3);
  for (uint64_t i = 0; i < 30; ++i) {
    removed.sweep.cells[1].members.push_back({MemberState::kDone, true, 1, 0, LeaseId{i + 1}});
    state.accepted.insert(LeaseId{i + 1});
  }
  Effects effects;
  Turn turn{state, kT0, effects};

  const auto known = [&] {
    size_t count = 0;
    for (uint64_t i = 1; i <= 30; ++i) count += state.accepted.contains(LeaseId{i}) ? 1 : 0;
    return count;
  };
  ASSERT_EQ(known(), 30u);
  size_t most = 0;
  size_t pieces = 0;
  while (!state.removed.empty()) {
    const size_t before = known();
    ForgetRemoved(turn);
    most = std::max(most, before - known());
    ASSERT_LT(++pieces, 100u);
  }

  EXPECT_EQ(known(), 0u);
  EXPECT_LE(most, 8u);
  EXPECT_GE(pieces, 4u);
}

// The store may have removed the lease's row before memory has forgotten it.
TEST(Deleting, ALateEndOfADeletedSweepIsSettledAndNotKept) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(SweepCancelled{1, kSweep}, kT0);
  (void)scheduler.Step(SweepDeleted{1, kSweep, ""}, kT0);

  const Effects late = scheduler.Step(Finish(1, 1), kT0);

  EXPECT_THAT(Of<KeepOutcome>(late), IsEmpty());
  ASSERT_THAT(Of<SendSettled>(late), SizeIs(1));
  EXPECT_FALSE(Of<SendSettled>(late)[0].accepted);
}

// A worker that is heard of nothing more is forgotten in its time.
TEST(Deleting, NobodyWaitsForTheLateEndsOfADeletedSweep) {
  Options options;
  options.forget_after = absl::Seconds(30);
  options.forget_late_after = absl::Hours(1);
  Scheduler scheduler{options};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(SweepCancelled{1, kSweep}, kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  (void)scheduler.Step(SweepDeleted{1, kSweep, ""}, kT0);
  Settle(scheduler);

  (void)scheduler.Step(Tick{}, kT0 + absl::Seconds(31));

  EXPECT_THAT(scheduler.Workers(), IsEmpty());
}

SweepSubmitted Limited(std::vector<std::string> classes, std::map<std::string, uint32_t> limits,
                       uint32_t replicates = 9) {
  SweepSubmitted event = Submit(MakeSweep({"algo"}, replicates, std::move(classes)));
  event.limits = std::move(limits);
  return event;
}

TEST(Limits, HoldWhateverIsFreeAndAreTold) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Limited({"cpu", "gpu"}, {{"gpu", 2}}), kT0);
  const Effects effects = scheduler.Step(Join(1, 6, "u", {"cpu", "gpu"}), kT0);
  EXPECT_THAT(Started(effects), SizeIs(6));
  const auto on_gpu = [&] {
    size_t count = 0;
    for (const RunningAttempt& one : scheduler.Running()) count += one.member.cell == 1;
    return count;
  };
  EXPECT_EQ(on_gpu(), 2u);
  EXPECT_THAT(scheduler.Explain({kSweep, 1, 8}, kT0),
              HasSubstr("2 of s1's members run on gpu, its limit. `update s1 --limit gpu=N`"));
  EXPECT_THAT(*scheduler.ExplainSweep(kSweep, kT0), HasSubstr("2 of s1's members run on gpu"));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());

  // Of who runs there the next may follow; over a restart, too.
  Scheduler restored = Scheduler::Restore({}, scheduler.Durable(), kT0);
  EXPECT_THAT(restored.BrokenInvariants(), IsEmpty());
  for (const RunningAttempt& one : scheduler.Running()) {
    if (one.member.cell != 1) continue;
    EXPECT_THAT(Started(scheduler.Step(Finish(1, one.lease.value), kT0)), SizeIs(1));
  }
  EXPECT_EQ(on_gpu(), 2u);
  SweepUpdated update{.request = 1, .sweep = kSweep};
  update.set_limits = {{"gpu", 0}, {"cpu", 1}};
  (void)scheduler.Step(update, kT0);
  EXPECT_EQ(scheduler.CountsOf(kSweep)->sharing.limits,
            (std::map<std::string, uint32_t>{{"cpu", 1}}));
  for (const RunningAttempt& one : scheduler.Running()) {
    (void)scheduler.Step(Finish(1, one.lease.value), kT0);
  }
  EXPECT_EQ(scheduler.Running().size() - on_gpu(), 1u) << "leases were not taken back";
  update.set_limits = {{"tpu", 1}};
  const auto errors = Of<AnswerError>(scheduler.Step(update, kT0));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(errors[0].message, HasSubstr("s1 has no hardware class tpu; it has cpu, gpu"));
}

// Where a sweep takes any class, the class is known with the first lease alone.
TEST(Limits, HoldForSweepsThatTakeAnyClass) {
  sweep::Sweep content = MakeSweep({"control", "algo", "impl"}, 1);
  content.hardware = {""};
  SweepSubmitted event = Submit(content);
  event.limits = {{"cpu", 1}};
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(event, kT0);

  EXPECT_THAT(Started(scheduler.Step(Join(1, 3, "u"), kT0)), SizeIs(1));
  EXPECT_THAT(scheduler.Explain({kSweep, 2, 0}, kT0), HasSubstr("run on its class as may"));
  EXPECT_THAT(Started(scheduler.Step(Finish(1, 1), kT0)), SizeIs(1));
  EXPECT_THAT(Started(scheduler.Step(Join(2, 3, "v", {"gpu"}), kT0)), SizeIs(1));
  EXPECT_THAT(scheduler.BrokenInvariants(), IsEmpty());
}

// A sweep that has as much as it may costs those behind it nothing.
TEST(Limits, CostTheSameBesideAThousandSweepsAtTheirLimits) {
  const auto cost = [](int sweeps) {
    Scheduler scheduler{Options{}};
    (void)scheduler.Step(Join(1, static_cast<uint32_t>(sweeps), "u"), kT0);
    for (int i = 0; i < sweeps; ++i) {
      Effects effects = scheduler.Step(Limited({"cpu"}, {{"cpu", 1}}, 1000), kT0);
    }
    (void)scheduler.Step(Join(2, 1, "v"), kT0);
    SweepSubmitted last = Submit(MakeSweep({"algo"}, 1000));
    const auto leases = Of<GrantLease>(scheduler.Step(last, kT0));
    EXPECT_THAT(leases, SizeIs(1));
    uint64_t lease = leases.at(0).lease.value;
    const uint64_t before = scheduler.looked_at();
    for (int i = 0; i < 50; ++i) {
      const auto next = Of<GrantLease>(scheduler.Step(Finish(2, lease), kT0));
      EXPECT_THAT(next, SizeIs(1));
      lease = next.at(0).lease.value;
    }
    return static_cast<double>(scheduler.looked_at() - before) / 50;
  };
  EXPECT_LE(cost(1000), cost(10) + 0.01);
}

// Each class is tried; then the one that ends soonest is taken.
TEST(AnyClass, GoesToTheClassThatEndsSoonest) {
  sweep::Sweep content = MakeSweep({"control", "algo", "impl", "algo+impl"}, 1);
  content.hardware = {""};
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Join(1, 1, "u", {"slow"}), kT0);
  (void)scheduler.Step(Join(2, 1, "v", {"fast"}), kT0);
  (void)scheduler.Step(WorkerUpdated{.request = 1, .worker = "w2", .drained = true}, kT0);
  ASSERT_THAT(Started(scheduler.Step(Submit(content), kT0)), ElementsAre("s1c0r0 w1"));
  ASSERT_THAT(
      Started(scheduler.Step(WorkerUpdated{.request = 1, .worker = "w2", .drained = false}, kT0)),
      ElementsAre("s1c1r0 w2"));
  for (const char* worker : {"w1", "w2"}) {
    (void)scheduler.Step(WorkerUpdated{.request = 1, .worker = worker, .drained = true}, kT0);
  }
  AttemptFinished slow = Finish(1, 1);
  slow.outcome.train_seconds = 100;
  (void)scheduler.Step(slow, kT0);
  AttemptFinished fast = Finish(2, 2);
  fast.outcome.train_seconds = 1;
  (void)scheduler.Step(fast, kT0);
  // Both are free when storage is back.
  (void)scheduler.Step(StorageFailed{"full"}, kT0);
  for (const char* worker : {"w1", "w2"}) {
    (void)scheduler.Step(WorkerUpdated{.request = 1, .worker = worker, .drained = false}, kT0);
  }

  EXPECT_THAT(Started(scheduler.Step(StorageRecovered{}, kT0)), ElementsAre("s1c2r0 w2"))
      << "and the other waits for it: see patience_test.cc";
}

// What failed before people let a part of it wait again is not counted once more.
TEST(MaxFailures, ARetryOfAPartGoesOnUntilAsManyMoreHaveFailed) {
  Scheduler scheduler{Options{.most_attempts = 1}};
  SweepSubmitted submitted = Submit(MakeSweep({"algo"}, 9));
  submitted.max_failures = 2;
  (void)scheduler.Step(submitted, kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(Fail(1, 1, CauseClass::kBug), kT0);
  (void)scheduler.Step(Fail(1, 2, CauseClass::kBug), kT0);
  ASSERT_EQ(CountOf(scheduler, MemberState::kCancelled), 7u);
  Selection cancelled;
  cancelled.states = {MemberState::kCancelled};

  (void)scheduler.Step(SweepRetried{7, kSweep, "", cancelled}, kT0);

  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 0u);
  Scheduler restored = Scheduler::Restore({.most_attempts = 1}, scheduler.Durable(), kT0);
  (void)restored.Step(Tick{}, kT0);
  EXPECT_EQ(CountOf(restored, MemberState::kCancelled), 0u) << "a restart knows it";
  (void)scheduler.Step(Fail(1, 3, CauseClass::kBug), kT0);
  EXPECT_EQ(CountOf(scheduler, MemberState::kFailed), 3u);
  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 0u);
  EXPECT_THAT(*scheduler.ExplainSweep(kSweep, kT0),
              HasSubstr("It stops when 2 members failed; 1 did so since people let it go on."));
  (void)scheduler.Step(Fail(1, 4, CauseClass::kBug), kT0);
  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 5u);
}

TEST(MaxFailures, AnExtensionGoesOnLikewise) {
  Scheduler scheduler{Options{.most_attempts = 1}};
  SweepSubmitted submitted = Submit(MakeSweep({"algo"}, 2));
  submitted.max_failures = 1;
  (void)scheduler.Step(submitted, kT0);
  (void)scheduler.Step(Join(1, 1, "u"), kT0);
  (void)scheduler.Step(Fail(1, 1, CauseClass::kBug), kT0);
  ASSERT_EQ(CountOf(scheduler, MemberState::kCancelled), 1u);

  EXPECT_THAT(Started(scheduler.Step(ExtendTo(scheduler, {.replicates = 3}), kT0)),
              ElementsAre("s1c0r2 w1"));
  EXPECT_EQ(CountOf(scheduler, MemberState::kCancelled), 1u);
}

}  // namespace
}  // namespace noisefloor::scheduler
