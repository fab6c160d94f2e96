// Cancels and retries of some members, and what decides between those that are waiting in line.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Settle;
using test::Started;
using test::Submit;
using testing::ElementsAre;

TEST(Selection, ByWorkerTakesThoseThatItHadLastAndNoOthers) {
  Scheduler scheduler{Options{.most_attempts = 1}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 4)), kT0);
  (void)scheduler.Step(Join(1, 1, "u1"), kT0);
  (void)scheduler.Step(Join(2, 1, "u2"), kT0);
  EXPECT_THAT(Started(scheduler.Step(Fail(1, 1, CauseClass::kBug), kT0)), ElementsAre("s1c0r2 w1"));
  EXPECT_THAT(Started(scheduler.Step(Fail(2, 2, CauseClass::kBug), kT0)), ElementsAre("s1c0r3 w2"));

  SweepCancelled cancel{.request = 1, .sweep = SweepId{1}};
  cancel.selection.workers = {"w2"};
  (void)scheduler.Step(cancel, kT0);
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kCancelled), 1u) << "s1c0r3 alone";
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kLeased), 1u);

  SweepRetried retry{.request = 2, .sweep = SweepId{1}};
  retry.selection.workers = {"w1"};
  (void)scheduler.Step(retry, kT0);
  const SweepCounts counts = *scheduler.CountsOf(SweepId{1});
  EXPECT_EQ(counts.In(MemberState::kFailed), 1u) << "what w2 had stays as it is";
  EXPECT_EQ(counts.In(MemberState::kCancelled), 1u);
  EXPECT_EQ(counts.In(MemberState::kWaiting) + counts.In(MemberState::kLeased), 2u);
}

TEST(Selection, ByAxisTakesTheCellsThatHaveTheValue) {
  sweep::Sweep content = MakeSweep({"algo"}, 2);
  content.axes = {{{{"train.batch", {int64_t{32}, int64_t{64}, int64_t{128}}}}}};
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(content), kT0);
  const auto cancel = [&](const std::string& path, std::set<std::string> values) {
    SweepCancelled event{.request = 1, .sweep = SweepId{1}};
    event.selection.axes[path] = std::move(values);
    const Effects effects = scheduler.Step(event, kT0);
    const auto errors = test::Of<AnswerError>(effects);
    if (!errors.empty()) return errors[0].message;
    return std::to_string(test::Of<AnswerCount>(effects).at(0).members);
  };
  EXPECT_EQ(cancel("train.batch", {"65"}), "s1 has no train.batch 65; it has 128, 32, 64");
  EXPECT_EQ(cancel("train.epochs", {"64"}), "s1 has no axis train.epochs; it has train.batch");
  EXPECT_EQ(cancel("train.batch", {"64", "32"}), "4");
  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kWaiting), 2u) << "those of 128";
}

// Both wait in line behind a change of another sweep, which takes many pieces.
TEST(Selection, AStopThatARetryHasOvertakenIsNotDone) {
  Scheduler scheduler{Options{.most_at_once = 2, .most_attempts = 1}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 20)), kT0);
  (void)scheduler.Step(Join(1, 20, "u1"), kT0);
  Settle(scheduler);
  (void)scheduler.Step(SweepUpdated{.request = 1, .sweep = SweepId{1}, .paused = true}, kT0);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);

  SweepSubmitted submitted = Submit(MakeSweep({"algo"}, 20));
  submitted.max_failures = 2;
  (void)scheduler.Step(submitted, kT0);
  const auto leases = test::Of<SendStart>(scheduler.Step(Join(2, 2, "u2"), kT0));
  ASSERT_EQ(leases.size(), 2u);
  (void)scheduler.Step(Fail(2, leases[0].lease.value, CauseClass::kBug), kT0);
  ASSERT_TRUE(scheduler.Step(SweepCancelled{2, SweepId{1}}, kT0).more) << "in pieces";

  (void)scheduler.Step(SweepRetried{3, SweepId{2}}, kT0);
  (void)scheduler.Step(Fail(2, leases[1].lease.value, CauseClass::kBug), kT0);
  Settle(scheduler);

  EXPECT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kCancelled), 20u);
  const SweepCounts counts = *scheduler.CountsOf(SweepId{2});
  EXPECT_EQ(counts.In(MemberState::kWaiting) + counts.In(MemberState::kLeased), 20u)
      << "none is cancelled";
}

// The others may be mended by whoever has not asked yet.
TEST(Selection, ARetryOfAPartTakesThePinsOfThatPartBackAndNoOthers) {
  Scheduler scheduler{Options{}};
  (void)scheduler.Step(Submit(MakeSweep({"algo", "impl"}, 1)), kT0);
  (void)scheduler.Step(Join(1, 2, "u1"), kT0);
  for (const uint64_t lease : {1u, 2u}) {
    (void)scheduler.Step(Fail(1, lease, CauseClass::kBadSpecification), kT0);
  }
  ASSERT_EQ(scheduler.CountsOf(SweepId{1})->In(MemberState::kFailed), 2u);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);  // So that nothing is pinned again.

  SweepRetried retry{.request = 1, .sweep = SweepId{1}};
  retry.selection.plans = {"impl"};
  const Effects effects = scheduler.Step(retry, kT0);

  const auto pins = test::Of<PinCell>(effects);
  ASSERT_EQ(pins.size(), 1u);
  EXPECT_EQ(pins[0].cell, 1u);
  EXPECT_EQ(pins[0].fingerprint, "");
  EXPECT_EQ(pins[0].stack, "") << "any, as it was submitted";
  const auto events = test::Of<AppendEvent>(effects);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text, "1 member waiting again, 1 cell no longer pinned");
}

// It has ended as it stands, and a change of it waits behind one of another sweep.
TEST(Selection, WhatIsAboutToBeChangedIsNotDeleted) {
  Scheduler scheduler{Options{.most_at_once = 2}};
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 20)), kT0);
  (void)scheduler.Step(Join(1, 20, "u1"), kT0);
  Settle(scheduler);
  (void)scheduler.Step(SweepCancelled{1, SweepId{1}}, kT0);
  Settle(scheduler);
  (void)scheduler.Step(SessionLost{SessionId{1}}, kT0);
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 20)), kT0);
  (void)scheduler.Step(SweepCancelled{2, SweepId{2}}, kT0);
  Settle(scheduler);
  ASSERT_TRUE(scheduler.Step(SweepRetried{3, SweepId{1}}, kT0).more) << "in pieces";
  (void)scheduler.Step(SweepRetried{4, SweepId{2}}, kT0);
  ASSERT_EQ(scheduler.CountsOf(SweepId{2})->In(MemberState::kCancelled), 20u) << "it waits";

  const Effects refused = scheduler.Step(SweepDeleted{5, SweepId{2}, ""}, kT0);

  const auto errors = test::Of<AnswerError>(refused);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(errors[0].message, "members of s2 are being changed; try again");
  ASSERT_TRUE(scheduler.CountsOf(SweepId{2}).has_value());
  Settle(scheduler);
  EXPECT_EQ(scheduler.CountsOf(SweepId{2})->In(MemberState::kWaiting), 20u);
}

}  // namespace
}  // namespace noisefloor::scheduler
