// What people ask of pools, and what becomes of jobs that are submitted.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/fleet/fleet.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// ---- People.

TEST_F(FleetTest, APoolIsAddedOnceOfEachName) {
  const auto added = fleet_.Add(WishOf("a100"), "1f2e", "alice", kStart);
  ASSERT_TRUE(added.ok()) << added.status();
  ASSERT_EQ(added->pools.size(), 1u);
  EXPECT_EQ(added->pools[0].number, 1u);
  EXPECT_EQ(added->pools[0].tag, "1f2e");
  EXPECT_EQ(added->pools[0].created_by, "alice");
  EXPECT_EQ(added->pools[0].created, kStart);
  EXPECT_THAT(added->happenings, ElementsAre(Happening{"pool_added", "pool a100 added"}));
  EXPECT_EQ(fleet_.Add(WishOf("a100"), "x", "bob", kStart).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(fleet_.Add(WishOf("A"), "x", "bob", kStart).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fleet_.Add(WishOf("h100"), "x", "bob", kStart)->pools[0].number, 2u);
}

TEST_F(FleetTest, NobodyChangesAPoolThatIsNotThere) {
  for (const auto& answer :
       {fleet_.Pause("a", ""), fleet_.Resume("a", ""), fleet_.Remove("a", "")}) {
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kNotFound);
  }
}

TEST_F(FleetTest, APausedPoolLaunchesNothingButSeesEnds) {
  Start();
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kAlive);
  (void)Look();
  const auto paused = fleet_.Pause("a100", "alice");
  ASSERT_EQ(paused->pools.size(), 1u);
  EXPECT_EQ(paused->pools[0].state, PoolState::kPaused);
  EXPECT_EQ(paused->pools[0].why, "paused by alice");
  EXPECT_THAT(fleet_.Pause("a100", "bob")->pools, IsEmpty()) << "it is alice's";
  members_ = 5;
  EXPECT_THAT(Look().submits, IsEmpty());
  Connect("a100-" + nonce + "-0");
  Show("25", nonce, JobPhase::kWell);
  EXPECT_THAT(Look().submits, IsEmpty());
  EXPECT_EQ(Last().end, LaunchEnd::kWell);

  const auto resumed = fleet_.Resume("a100", "bob");
  EXPECT_EQ(resumed->pools.at(0).state, PoolState::kActive);
  EXPECT_EQ(resumed->pools.at(0).why, "");
  EXPECT_EQ(Look().submits.size(), 1u);
}

// ---- Submissions.

TEST_F(FleetTest, ASingleJobHasItsOwnKeyAndTheJobsOfAnArrayTheirIndexBehindIt) {
  Start();
  members_ = 1;
  (void)Answer(Look().submits.at(0), "25");
  EXPECT_EQ(launches_.at(1).job, "25");
  EXPECT_EQ(launches_.at(1).phase, LaunchPhase::kWaiting);
  Show("25", "n1", JobPhase::kWaiting);
  members_ = 3;
  const Decisions answered = Answer(Look().submits.at(0), "24");
  EXPECT_EQ(answered.launches.size(), 2u);
  EXPECT_EQ(launches_.at(2).job, "24_0");
  EXPECT_EQ(launches_.at(3).job, "24_1");
}

// The clock was a day ahead when the cluster refused.
TEST_F(FleetTest, AClockThatIsSetBackMakesNoPoolWait) {
  Start();
  members_ = 1;
  now_ += absl::Hours(24);
  const Decisions first = Look();
  ASSERT_EQ(first.submits.size(), 1u);
  (void)Answer(first.submits[0], InvalidInput("bad account"));
  const Decisions second = Look();
  ASSERT_EQ(second.submits.size(), 1u);
  (void)Answer(second.submits[0], InvalidInput("bad account"));
  EXPECT_THAT(Look().submits, IsEmpty()) << "a minute";
  now_ -= absl::Hours(24);
  EXPECT_THAT(Look().submits, SizeIs(1));
}

TEST_F(FleetTest, ARefusedSubmissionIsTriedAgainLaterAndLater) {
  Start();
  members_ = 1;
  const std::vector<absl::Duration> delays = {absl::ZeroDuration(), absl::Minutes(1),
                                              absl::Minutes(5),     absl::Minutes(15),
                                              absl::Minutes(60),    absl::Minutes(60)};
  for (const absl::Duration delay : delays) {
    const Decisions decisions = Look();
    ASSERT_EQ(decisions.submits.size(), 1u);
    const absl::Time refused = now_;
    const Decisions answered = Answer(decisions.submits[0], InvalidInput("bad account"));
    ASSERT_EQ(answered.launches.size(), 1u);
    EXPECT_EQ(answered.launches[0].end, LaunchEnd::kRefused);
    EXPECT_EQ(answered.launches[0].reason, "bad account");
    EXPECT_TRUE(ThePool().live.empty());
    if (delay == absl::ZeroDuration()) continue;
    now_ = refused + delay - kPoll - absl::Milliseconds(1);
    EXPECT_THAT(Look().submits, IsEmpty()) << delay;
    now_ = refused + delay - kPoll;  // The next look is on time.
  }
  EXPECT_EQ(ThePool().crashes, 0u);
}

TEST_F(FleetTest, AfterTenRefusalsInARowAPoolIsPausedUntilItIsResumed) {
  Start();
  members_ = 1;
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(ThePool().record.state, PoolState::kActive) << i;
    now_ += absl::Hours(2);
    (void)Answer(Look().submits.at(0), InvalidInput("bad account"));
  }
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why, "the cluster refuses its jobs: bad account");
  EXPECT_THAT(Look().submits, IsEmpty());

  (void)Keep(*fleet_.Resume("a100", ""));
  const Decisions resumed = Look();
  ASSERT_EQ(resumed.submits.size(), 1u) << "at once";
  (void)Answer(resumed.submits[0], InvalidInput("bad account"));
  EXPECT_EQ(ThePool().refusals, 1u);
}

TEST_F(FleetTest, ARefusedArrayIsTriedAgainSmallerAtOnceAndIsNoRefusal) {
  Start();
  members_ = 8;
  std::vector<uint32_t> counts;
  for (int i = 0; i < 4; ++i) {
    const Decisions decisions = Look();
    ASSERT_EQ(decisions.submits.size(), 1u);
    counts.push_back(decisions.submits[0].count);
    const bool taken = counts.back() <= 2;
    if (!taken) (void)Answer(decisions.submits[0], InvalidInput("Invalid job array specification"));
    if (taken) (void)Answer(decisions.submits[0], std::to_string(20 + i));
  }
  EXPECT_THAT(counts, ElementsAre(8, 4, 2, 3)) << "between what was taken and what was not";
  EXPECT_EQ(ThePool().refusals, 0u);
  EXPECT_EQ(ThePool().live.size(), 2u);
}

// The site may have raised its limit since.
TEST_F(FleetTest, APoolThatIsResumedAsksForLargeArraysAgain) {
  Start();
  members_ = 8;
  for (const uint32_t count : {8u, 4u, 2u}) {
    const Decisions decisions = Look();
    ASSERT_EQ(decisions.submits.size(), 1u);
    ASSERT_EQ(decisions.submits[0].count, count);
    if (count > 2) (void)Answer(decisions.submits[0], InvalidInput("Invalid job array"));
    if (count == 2) (void)Answer(decisions.submits[0], "22");
  }

  (void)Keep(*fleet_.Resume("a100", ""));

  const Decisions resumed = Look();
  ASSERT_EQ(resumed.submits.size(), 1u);
  EXPECT_EQ(resumed.submits[0].count, 6u) << "all that two leave";
}

TEST_F(FleetTest, AfterTenSubmissionsThatNobodyAnsweredAPoolIsPaused) {
  Start();
  members_ = 1;
  for (int i = 1; i <= 10; ++i) {
    EXPECT_EQ(ThePool().record.state, PoolState::kActive) << i;
    now_ += absl::Hours(2);
    Decisions decisions = Look();
    while (decisions.submits.empty()) {  // Two polls until the last one is given up.
      now_ += absl::Hours(2);
      decisions = Look();
    }
    (void)Answer(decisions.submits.at(0), absl::DeadlineExceededError("15 s"));
  }
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why, "the cluster does not answer when its jobs are submitted: 15 s");
}

// There are bounds on what one person may have in the queue that only the cluster knows.
TEST_F(FleetTest, APoolThatHasJobsIsNotPausedForRefusalsAndTriesWhenAPlaceIsFree) {
  Start();
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kAlive);
  Connect("a100-" + nonce + "-0");
  members_ = 1;
  for (int i = 0; i < 12; ++i) {
    now_ += absl::Hours(2);
    (void)Answer(Look().submits.at(0), InvalidInput("job submit limit"));
  }
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  EXPECT_THAT(Look().submits, IsEmpty()) << "in an hour";
  workers_.clear();
  Show("25", nonce, JobPhase::kWell);
  EXPECT_EQ(Look().submits.size(), 1u);
}

TEST_F(FleetTest, JobsThatWaitAreJobsThatAPoolHas) {
  Start();
  (void)LaunchOne("25");
  members_ = 2;
  for (int i = 0; i < 12; ++i) {
    now_ += absl::Hours(2);
    (void)Answer(Look().submits.at(0), InvalidInput("job submit limit"));
  }
  EXPECT_EQ(ThePool().record.state, PoolState::kActive) << ThePool().record.why;
}

TEST_F(FleetTest, OneThatIsTakenForgivesTheRefusals) {
  Start();
  members_ = 1;
  for (int i = 0; i < 9; ++i) {
    now_ += absl::Hours(2);
    (void)Answer(Look().submits.at(0), InvalidInput("bad account"));
  }
  now_ += absl::Hours(2);
  (void)Answer(Look().submits.at(0), "25");
  EXPECT_EQ(ThePool().refusals, 0u);
}

TEST_F(FleetTest, AnUnansweredSubmissionIsFoundByItsName) {
  Start();
  members_ = 2;
  (void)Answer(Look().submits.at(0), absl::DeadlineExceededError("15 s"));
  EXPECT_EQ(launches_.at(1).phase, LaunchPhase::kIntended);
  Show("24_1", "n1", JobPhase::kAlive, 1);
  Show("24_0", "n1", JobPhase::kWaiting, 0);
  now_ += absl::Hours(2);
  EXPECT_THAT(Look().submits, IsEmpty()) << "no second time";
  EXPECT_EQ(launches_.at(1).job, "24_0");
  EXPECT_EQ(launches_.at(1).phase, LaunchPhase::kWaiting);
  EXPECT_EQ(launches_.at(2).job, "24_1");
  EXPECT_EQ(launches_.at(2).phase, LaunchPhase::kAlive);
}

TEST_F(FleetTest, AnUnansweredSubmissionThatTwoPollsDoNotShowWasNotTaken) {
  Start();
  members_ = 1;
  (void)Answer(Look().submits.at(0), absl::UnavailableError("nobody"));
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(LookUnheard().launches, IsEmpty()) << "a poll that failed says nothing";
    EXPECT_THAT(Look(true, /*unasked=*/true).launches, IsEmpty());
  }
  EXPECT_THAT(Look().launches, IsEmpty());
  EXPECT_THAT(LookUnheard().launches, IsEmpty());
  const Decisions decisions = Look();
  EXPECT_EQ(launches_.at(1).end, LaunchEnd::kGone);
  EXPECT_EQ(launches_.at(1).reason, "the cluster never got it");
  ASSERT_EQ(decisions.submits.size(), 1u) << "anew";
  EXPECT_EQ(launches_.at(2).nonce, decisions.submits[0].nonce);
}

// Else a cluster that does not answer would be asked ever again.
TEST_F(FleetTest, WhatTheClusterNeverGotLeavesNoPlaceToFillAtOnce) {
  Start();
  members_ = 1;
  for (int i = 0; i < 2; ++i) {
    (void)Answer(Look().submits.at(0), absl::UnavailableError("nobody"));
    (void)Look();
  }
  EXPECT_THAT(Look().submits, IsEmpty()) << "30 s after the second";
  EXPECT_EQ(Last().end, LaunchEnd::kGone);
  EXPECT_THAT(Look().submits, IsEmpty());
  EXPECT_EQ(Look().submits.size(), 1u) << "a minute after it";
}

TEST_F(FleetTest, AJobWithTheSameKeyAndAnotherNameIsSomebodyElses) {
  Start();
  (void)LaunchOne("25");
  jobs_ = {{.key = "25", .name = "nf-a100-1f2e-other", .phase = JobPhase::kAlive}};
  jobs_[0].name = "training";
  (void)Look();
  EXPECT_EQ(launches_.at(1).phase, LaunchPhase::kWaiting) << "not that one";
  const Decisions decisions = Look();
  EXPECT_EQ(launches_.at(1).end, LaunchEnd::kGone);
  EXPECT_EQ(launches_.at(1).reason, "the cluster knows nothing of it any more");
  (void)fleet_.Remove("a100", "");
  for (const Cancel& cancel : decisions.cancels) EXPECT_NE(cancel.job, "25");
  EXPECT_THAT(Look().cancels, IsEmpty());
}

TEST_F(FleetTest, AnotherIndexOfTheArrayIsAnotherJob) {
  Start();
  members_ = 2;
  (void)Answer(Look().submits.at(0), "24");
  Show("24_1", "n1", JobPhase::kAlive, 1);
  (void)Look();
  EXPECT_EQ(launches_.at(1).phase, LaunchPhase::kWaiting);
  EXPECT_EQ(launches_.at(2).phase, LaunchPhase::kAlive);
}

}  // namespace
}  // namespace noisefloor::fleet
