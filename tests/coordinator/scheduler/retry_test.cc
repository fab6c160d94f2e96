#include "coordinator/scheduler/retry.h"

#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Join;
using test::kT0;
using test::MakeSweep;
using test::Submit;

struct Course {
  int attempts = 0;
  absl::Duration time;  // Until the last of them failed.
};

// What a lone member gets when each attempt fails at once with `cause` on the one worker.
Course UntilFailed(CauseClass cause, bool with_another_worker = false) {
  Scheduler scheduler{Options{}};
  absl::Time now = kT0;
  (void)scheduler.Step(Submit(MakeSweep({"algo"}, 1)), now);
  (void)scheduler.Step(Join(1, 1, "u1"), now);
  if (with_another_worker) (void)scheduler.Step(Join(2, 1, "u2"), now);
  Course course;
  while (scheduler.Durable().sweeps[0].cells[0].members[0].state != MemberState::kFailed) {
    const std::vector<RunningAttempt> running = scheduler.Running();
    if (running.empty()) {
      now += absl::Seconds(1);
      (void)scheduler.Step(Heartbeat{SessionId{1}, {}}, now);
      (void)scheduler.Step(Tick{}, now);
      continue;
    }
    AttemptFinished event{SessionId{running[0].worker.value}, running[0].lease, {}, {}};
    event.outcome.cause = cause;
    (void)scheduler.Step(event, now);
    course = {course.attempts + 1, now - kT0};
  }
  return course;
}

int AttemptsUntilFailed(CauseClass cause, bool with_another_worker = false) {
  return UntilFailed(cause, with_another_worker).attempts;
}

TEST(DecideRetry, NeverRepeatsABadSpecification) {
  EXPECT_FALSE(DecideRetry(CauseClass::kBadSpecification, {1, 0}, {}).again);
}

TEST(DecideRetry, CountsItsOwnFaultsAndLostWorkersApart) {
  EXPECT_TRUE(DecideRetry(CauseClass::kBug, {1, 9}, {}).again);
  EXPECT_FALSE(DecideRetry(CauseClass::kBug, {2, 0}, {}).again);
  EXPECT_TRUE(DecideRetry(CauseClass::kLostWorker, {2, 9}, {}).again);
  EXPECT_FALSE(DecideRetry(CauseClass::kLostWorker, {0, 10}, {}).again);
}

TEST(DecideRetry, SaysHowMuchIsSpent) {
  EXPECT_EQ(DecideRetry(CauseClass::kOutOfMemory, {1, 0}, {}).reason, "after 1 of 2 attempts");
  EXPECT_EQ(DecideRetry(CauseClass::kInterrupted, {1, 3}, {}).reason, "after 3 of 10 attempts");
}

TEST(DecideRetry, FollowsTheOptions) {
  EXPECT_TRUE(DecideRetry(CauseClass::kBug, {2, 0}, {.most_attempts = 3}).again);
  EXPECT_FALSE(DecideRetry(CauseClass::kLostDevice, {0, 1}, {.most_lost = 1}).again);
}

TEST(Retry, GivesEachCauseItsNumberOfAttempts) {
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kBadSpecification), 1);
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kBug), 2);
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kOutOfMemory), 2);
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kLostDevice), 10);
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kInterrupted), 10);
}

TEST(Retry, TakesItsTimeOnAWorkerThatLosesItsDeviceAgainAndAgain) {
  EXPECT_EQ(UntilFailed(CauseClass::kLostDevice).time,
            absl::Seconds(5 + 10 + 20 + 40 + 80 + 160 + 300));
  EXPECT_EQ(UntilFailed(CauseClass::kBug).time, absl::ZeroDuration());
}

TEST(Retry, TriesBadDataOnlyOnAnotherWorker) {
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kBadData), 1);
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kBadData, true), 2);
}

TEST(Retry, TreatsAFailureWithoutACauseAsABug) {
  EXPECT_EQ(AttemptsUntilFailed(CauseClass::kNone), 2);
}

}  // namespace
}  // namespace noisefloor::scheduler
