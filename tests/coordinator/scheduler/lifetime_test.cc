// A member is not begun on a worker that a cluster will end before it could.
#include "coordinator/scheduler/lifetime.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/scheduler/fleet.h"

namespace noisefloor::scheduler {
namespace {

using test::Fail;
using test::Finish;
using test::kT0;
using test::MakeSweep;
using test::Started;
using test::Submit;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr absl::Duration kForEver = absl::InfiniteDuration();

class Lifetime : public testing::Test {
 protected:
  void SetUp() override { (void)scheduler_.Step(Submit(MakeSweep({"algo"}, 6)), now_); }
  void TearDown() override { EXPECT_THAT(scheduler_.BrokenInvariants(), IsEmpty()); }

  std::vector<std::string> Join(uint64_t worker, absl::Duration lives) {
    WorkerConnected event = test::Join(worker, 1, "u" + std::to_string(worker));
    event.lives = lives;
    return Started(scheduler_.Step(event, now_));
  }
  std::vector<std::string> End(uint64_t worker, uint64_t lease, absl::Duration after) {
    Pass(worker, lease, after);
    AttemptFinished end = Finish(worker, lease);
    end.outcome.train_seconds = absl::ToDoubleSeconds(after);
    return Started(scheduler_.Step(end, now_));
  }
  // The worker holds its lease meanwhile.
  void Pass(uint64_t worker, uint64_t lease, absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += absl::Seconds(10)) {
      now_ += absl::Seconds(10);
      (void)scheduler_.Step(Heartbeat{SessionId{worker}, {{LeaseId{lease}}}}, now_);
      (void)scheduler_.Step(Tick{}, now_);
    }
  }
  std::vector<std::string> Tell(const Event& event) {
    return Started(scheduler_.Step(event, now_));
  }
  std::string Explain(uint32_t replicate) {
    return scheduler_.Explain({SweepId{1}, 0, replicate}, now_);
  }

  absl::Time now_ = kT0;
  Scheduler scheduler_{Options{}};
};

TEST_F(Lifetime, WhatIsNotKnownIsTried) {
  EXPECT_THAT(Join(1, absl::Seconds(1)), ElementsAre("s1c0r0 w1"));
}

TEST_F(Lifetime, AMemberIsNotBegunWhereOthersOfItsCellWouldNotHaveEnded) {
  ASSERT_THAT(Join(1, absl::Seconds(250)), ElementsAre("s1c0r0 w1"));
  // 150 s are left, and 125 s are enough: a quarter more than the first one took.
  EXPECT_THAT(End(1, 1, absl::Seconds(100)), ElementsAre("s1c0r1 w1"));
  EXPECT_THAT(End(1, 2, absl::Seconds(50)), IsEmpty()) << "100 s are left";
  EXPECT_THAT(Explain(2), HasSubstr("w1 is left out: its time limit ends it in 100 s, and "
                                    "the member would take up to 125 s"));
  EXPECT_THAT(Join(2, absl::Seconds(124)), IsEmpty());
  EXPECT_THAT(Join(3, absl::Seconds(125)), ElementsAre("s1c0r2 w3"));
  EXPECT_THAT(Join(4, kForEver), ElementsAre("s1c0r3 w4"));
  EXPECT_THAT(scheduler_.ExplainWorker("w3", now_).value_or(""),
              HasSubstr("its time limit ends it in 125 s"));
  EXPECT_THAT(scheduler_.ExplainWorker("w4", now_).value_or(""), Not(HasSubstr("time limit")));
}

TEST_F(Lifetime, WhatWasCutOffIsNotBegunWhereItWouldBeAgain) {
  ASSERT_THAT(Join(1, absl::Seconds(100)), ElementsAre("s1c0r0 w1"));
  Pass(1, 1, absl::Seconds(100));
  EXPECT_THAT(Tell(Fail(1, 1, CauseClass::kInterrupted)), IsEmpty());
  EXPECT_THAT(Tell(SessionLost{SessionId{1}}), IsEmpty());
  EXPECT_THAT(Join(2, absl::Seconds(110)), IsEmpty());
  EXPECT_THAT(Join(3, absl::Seconds(130)), ElementsAre("s1c0r0 w3"));
}

// Nobody knows whether it went on after its worker's last word.
TEST_F(Lifetime, SilenceIsNoPartOfWhatWasCutOff) {
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s1c0r0 w1"));
  Pass(1, 1, absl::Seconds(100));
  (void)Tell(SessionLost{SessionId{1}});
  for (int second = 0; second < 30; ++second) {  // A tick after ten seconds gave these back.
    now_ += absl::Seconds(1);
    (void)Tell(Tick{});
  }
  ASSERT_THAT(scheduler_.Running(), IsEmpty()) << "its lease has ended";
  EXPECT_THAT(Join(2, absl::Seconds(124)), IsEmpty());
  EXPECT_THAT(Join(3, absl::Seconds(126)), ElementsAre("s1c0r0 w3"));
}

TEST_F(Lifetime, WhatFailsByItselfSaysNothingOfHowLongItTakes) {
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s1c0r0 w1"));
  Pass(1, 1, absl::Seconds(100));
  (void)Tell(Fail(1, 1, CauseClass::kBug));
  EXPECT_THAT(Join(2, absl::Seconds(10)), Not(IsEmpty()));
}

TEST_F(Lifetime, WhatGoesOnElsewhereIsBegunAnywhere) {
  ASSERT_THAT(Join(1, absl::Seconds(100)), ElementsAre("s1c0r0 w1"));
  (void)Tell(AttemptStarted{SessionId{1}, LeaseId{1}, "", /*resumes=*/true});
  Pass(1, 1, absl::Seconds(90));
  EXPECT_THAT(Tell(Fail(1, 1, CauseClass::kInterrupted)), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(Join(2, absl::Seconds(5)), ElementsAre("s1c0r1 w2"));
  // A worker without a shared folder: not any more.
  (void)Tell(AttemptStarted{SessionId{2}, LeaseId{3}, "", /*resumes=*/false});
  EXPECT_THAT(Join(3, absl::Seconds(5)), IsEmpty());
  // And again: what waits is looked at anew.
  EXPECT_THAT(Tell(AttemptStarted{SessionId{2}, LeaseId{3}, "", /*resumes=*/true}),
              ElementsAre("s1c0r2 w3"));
}

TEST_F(Lifetime, AfterARestartTheTimesOfTheSweepAreKnown) {
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(End(1, 1, absl::Seconds(100)), ElementsAre("s1c0r1 w1"));
  scheduler_ = Scheduler::Restore(Options{}, scheduler_.Durable(), now_);
  EXPECT_THAT(Join(2, absl::Seconds(124)), IsEmpty());
  EXPECT_THAT(Join(3, absl::Seconds(125)), ElementsAre("s1c0r2 w3"));
}

TEST_F(Lifetime, WhatWaitsSaysWhatAWorkerMustLiveFor) {
  ASSERT_THAT(scheduler_.Needs().size(), 1u);
  EXPECT_EQ(scheduler_.Needs()[0].members, 6u);
  EXPECT_EQ(scheduler_.Needs()[0].time, absl::ZeroDuration());
  ASSERT_THAT(Join(1, absl::Seconds(110)), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(End(1, 1, absl::Seconds(100)), IsEmpty());
  // A sweep of which nothing is known yet waits for the same.
  (void)Tell(Submit(MakeSweep({"control", "algo"}, 2)));
  std::map<absl::Duration, uint64_t> by_time;
  for (const Need& need : scheduler_.Needs()) by_time[need.time] += need.members;
  EXPECT_THAT(by_time, ElementsAre(Pair(absl::ZeroDuration(), 3u), Pair(absl::Seconds(125), 5u)))
      << "one of four of the other sweep has begun on w1";
}

// A worker that lives too short is no other place that a member could wait for.
TEST_F(Lifetime, WhatFailedOnTheOnlyWorkerWithTimeGoesThereAgain) {
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(End(1, 1, absl::Seconds(100)), ElementsAre("s1c0r1 w1"));
  EXPECT_THAT(Join(2, absl::Seconds(10)), IsEmpty());
  for (uint64_t lease = 2; lease <= 6; ++lease) {
    (void)Tell(Fail(1, lease, CauseClass::kOutOfMemory));
  }
  EXPECT_THAT(scheduler_.Explain({SweepId{1}, 0, 1}, now_), Not(HasSubstr("failed this member")));
}

TEST_F(Lifetime, TimeInWhichNobodyCoordinatedSaysNothingOfHowLongItTakes) {
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s1c0r0 w1"));
  Pass(1, 1, absl::Seconds(10));
  const RecoveredState kept = scheduler_.Durable();
  now_ += absl::Hours(10);
  scheduler_ = Scheduler::Restore(Options{}, kept, now_);
  for (int second = 0; second < 30; ++second) {  // A tick after ten seconds gave these back.
    now_ += absl::Seconds(1);
    (void)Tell(Tick{});
  }
  EXPECT_THAT(scheduler_.Running(), IsEmpty()) << "its lease has ended";
  EXPECT_THAT(Join(2, absl::Seconds(60)), Not(IsEmpty()));
}

// What is too long for a worker stands in nobody's way.
TEST_F(Lifetime, OthersGoOnBehindWhatIsTooLong) {
  ASSERT_THAT(Join(1, absl::Seconds(110)), ElementsAre("s1c0r0 w1"));
  EXPECT_THAT(End(1, 1, absl::Seconds(100)), IsEmpty());
  EXPECT_THAT(Tell(Submit(MakeSweep({"control"}, 2))), ElementsAre("s2c0r0 w1"));
}

// How many of one sweep are too long says nothing of the next: of it as many are looked at.
TEST_F(Lifetime, ASweepIsLookedAtAsFarAsThoseBeforeIt) {
  sweep::Sweep many = MakeSweep({"algo"}, 2);
  many.blocks = 600;  // Of two sweeps more cells than are looked at of one.
  (void)Tell(Submit(many));
  (void)Tell(SweepUpdated{.request = 1, .sweep = SweepId{2}, .priority = 1});
  ASSERT_THAT(Join(1, kForEver), ElementsAre("s2c0r0 w1"));
  ASSERT_THAT(End(1, 1, absl::Seconds(10)), ElementsAre("s2c1r0 w1"));
  ASSERT_THAT(End(1, 2, absl::Seconds(200)), ElementsAre("s2c2r0 w1"));
  (void)Tell(Submit(many));
  (void)Tell(SweepUpdated{.request = 2, .sweep = SweepId{3}, .priority = 2});
  ASSERT_THAT(Join(3, kForEver), ElementsAre("s3c0r0 w3"));
  for (int i = 0; i < 10; ++i) {
    now_ += absl::Seconds(10);
    (void)Tell(Heartbeat{SessionId{1}, {{LeaseId{3}}}});
    (void)Tell(Heartbeat{SessionId{3}, {{LeaseId{4}}}});
    (void)Tell(Tick{});
  }
  AttemptFinished end = Finish(3, 4);
  end.outcome.train_seconds = 100;
  ASSERT_THAT(Tell(end), ElementsAre("s3c1r0 w3"));

  // All of the third sweep and nearly all of the second would not have ended in that time.
  EXPECT_THAT(Join(2, absl::Seconds(50)), ElementsAre("s2c0r1 w2"));
}

}  // namespace
}  // namespace noisefloor::scheduler
