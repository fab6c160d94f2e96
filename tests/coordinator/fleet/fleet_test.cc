// What becomes of jobs that were taken, of workers, and of those that fail.
#include "coordinator/fleet/fleet.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- Jobs.

TEST_F(FleetTest, AJobIsSeenToWaitToBeginAndToEnd) {
  Start();
  const std::string nonce = LaunchOne("25");
  jobs_[0].reason = "Resources";
  (void)Look();
  EXPECT_EQ(Last().reason, "Resources");
  EXPECT_EQ(Last().began, absl::InfiniteFuture());

  Show("25", nonce, JobPhase::kAlive);
  jobs_[0].node = "n7";
  jobs_[0].reason = "Resources";  // No longer what it waits for.
  const absl::Time began = now_;
  (void)Look();
  EXPECT_EQ(Last().phase, LaunchPhase::kAlive);
  EXPECT_EQ(Last().reason, "");
  EXPECT_EQ(Last().node, "n7");
  EXPECT_EQ(Last().began, began);
  EXPECT_THAT(Look().launches, IsEmpty()) << "nothing new";

  jobs_[0].phase = JobPhase::kTaken;
  jobs_[0].state = "NODE_FAIL";
  jobs_[0].reason = "NodeDown";
  jobs_[0].ends = now_ + absl::Seconds(5);
  const absl::Time ended = jobs_[0].ends;
  (void)Look();
  EXPECT_EQ(Last().phase, LaunchPhase::kEnded);
  EXPECT_EQ(Last().end, LaunchEnd::kTaken);
  EXPECT_EQ(Last().reason, "NODE_FAIL: NodeDown");
  EXPECT_EQ(Last().ended, ended);
  EXPECT_EQ(Last().node, "n7");
  EXPECT_TRUE(ThePool().live.empty());
  EXPECT_THAT(Look().launches, IsEmpty()) << "the cluster shows it for some minutes";
}

TEST_F(FleetTest, AnEndThatIsStillToComeIsNow) {
  Start();
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kBroken);
  jobs_[0].ends = now_ + absl::Hours(4);  // Its time limit.
  (void)Look();
  EXPECT_EQ(Last().end, LaunchEnd::kBroken);
  EXPECT_EQ(Last().reason, "FAILED");
  EXPECT_EQ(Last().ended, now_);
}

TEST_F(FleetTest, OneThatWouldNeverBeginIsCancelledAndPausesThePool) {
  Start();
  (void)LaunchOne("25");
  jobs_[0].reason = "PartitionConfig";
  const Decisions decisions = Look();
  ASSERT_EQ(decisions.cancels.size(), 1u);
  EXPECT_EQ(decisions.cancels[0].pool, 1u);
  EXPECT_EQ(decisions.cancels[0].name, "nf-a100-1f2e-n1");
  EXPECT_EQ(decisions.cancels[0].job, "25");
  EXPECT_EQ(Last().end, LaunchEnd::kRefused);
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why, "the cluster would never begin its jobs: PartitionConfig");
}

TEST_F(FleetTest, ThatAnArrayWouldNeverBeginIsSaidOnce) {
  Start();
  members_ = 3;
  const Decisions asked = Look();
  (void)Answer(asked.submits.at(0), "24");
  for (uint32_t i = 0; i < 3; ++i) {
    Show("24_" + std::to_string(i), "n1", JobPhase::kWaiting, i);
    jobs_.back().reason = "BadConstraints";
  }
  EXPECT_EQ(Look().cancels.size(), 3u);
  EXPECT_THAT(happened_, ElementsAre("pool_paused"));
}

TEST_F(FleetTest, AReasonThatPassesIsWaitedFor) {
  Start();
  (void)LaunchOne("25");
  jobs_[0].reason = "QOSMaxGRESPerUser";
  members_ = 1;
  EXPECT_THAT(Look().cancels, IsEmpty());
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
}

// ---- Workers.

TEST_F(FleetTest, AWorkerThatTheClusterHasStartedAgainIsHeard) {
  Start();
  const std::string nonce = LaunchOne("25");
  Connect("a100-" + nonce + "-0-r1");
  (void)Look();
  EXPECT_TRUE(Last().heard);
}

TEST_F(FleetTest, AWorkerWithALongerIndexIsAnother) {
  Start();
  const std::string nonce = LaunchOne("25");
  Connect("a100-" + nonce + "-00");
  Connect("a100-" + nonce + "-01-r1");
  Connect("a100-" + nonce);
  (void)Look();
  EXPECT_FALSE(Last().heard);
}

TEST_F(FleetTest, WrongHardwareIsCancelledAndPausesThePool) {
  PoolRecord pool = KnownPool();
  pool.wish.hardware = "a100";
  pool.classes.clear();
  Start(pool);
  const Decisions asked = Look();  // The first comes unasked.
  (void)Answer(asked.submits.at(0), "25");
  Show("25", "n1", JobPhase::kAlive);
  workers_["a100-n1-0"] = {{"v100", "cpu"}, {"cuda"}, 1};
  const Decisions decisions = Look();
  ASSERT_EQ(decisions.cancels.size(), 1u);
  EXPECT_EQ(decisions.cancels[0].name, "nf-a100-1f2e-n1");
  EXPECT_EQ(decisions.cancels[0].job, "25");
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why, "its worker a100-n1-0 has no a100 but v100, cpu");
  EXPECT_THAT(pools_.at(1).classes, IsEmpty());
  EXPECT_EQ(ThePool().live.size(), 1u) << "until the cluster says that it has ended";
}

// The cluster may not have heard the first cancellation.
TEST_F(FleetTest, WrongHardwareIsCancelledAgainWhileThePollsShowIt) {
  PoolRecord pool = KnownPool();
  pool.wish.hardware = "a100";
  Start(pool);
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kAlive);
  workers_["a100-" + nonce + "-0"] = {{"v100"}, {"cuda"}, 1};
  EXPECT_EQ(Look().cancels.size(), 1u);
  EXPECT_THAT(Look(true, /*unasked=*/true).cancels, IsEmpty());
  EXPECT_EQ(Look().cancels.size(), 1u);
  EXPECT_THAT(happened_, ElementsAre("pool_paused"));
  Show("25", nonce, JobPhase::kTaken);
  workers_.clear();
  (void)Look();
  EXPECT_THAT(Look().cancels, IsEmpty());
}

// While the cluster was slow to answer, say.
TEST_F(FleetTest, AWorkerThatCameAndWentBetweenTwoLooksWasHere) {
  PoolRecord pool = KnownPool();
  pool.stacks = {};
  Start(pool);
  for (const char* key : {"21", "22", "23", "24"}) {
    const std::string nonce = LaunchOne(key);
    workers_["a100-" + nonce + "-0"] = {{"a100"}, {"cuda"}, 1, /*connected=*/false};
    Show(key, nonce, JobPhase::kWell);
    (void)Look();
    EXPECT_TRUE(Last().heard);
    EXPECT_EQ(Last().end, LaunchEnd::kWell);
  }
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  EXPECT_THAT(ThePool().record.stacks, ElementsAre("cuda")) << "it has shown what it has";
}

TEST_F(FleetTest, OfAWorkerThatWasHereBeforeTheCoordinatorNothingIsLearned) {
  Start();
  const std::string nonce = LaunchOne("25");
  workers_["a100-" + nonce + "-0"] = {{}, {}, 0, /*connected=*/false};
  Show("25", nonce, JobPhase::kAlive);
  (void)Look();
  EXPECT_TRUE(Last().heard);
  EXPECT_EQ(ThePool().record, KnownPool());
}

// Else every job of the pool would wait for members that none can train.
TEST_F(FleetTest, AWorkerThatOffersNothingPausesThePool) {
  Start();
  const std::string nonce = LaunchOne("25");
  workers_["a100-" + nonce + "-0"] = {{}, {}, 0};
  Show("25", nonce, JobPhase::kAlive);
  (void)Look();
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why,
            "its worker a100-" + nonce + "-0 offers nothing: `noisefloor explain` says why");
  EXPECT_THAT(pools_.at(1).classes, ElementsAre("a100")) << "what others had stays";
  EXPECT_THAT(happened_, ElementsAre("pool_paused"));
}

// The coordinator ended before it had looked: what the worker has is learned when it is back.
TEST_F(FleetTest, WhatAWorkerHasIsLearnedWhenItIsSeenWithIt) {
  PoolRecord pool = KnownPool();
  pool.classes.clear();
  pool.stacks.clear();
  Start(pool);
  const std::string nonce = LaunchOne("25");
  const std::string worker = "a100-" + nonce + "-0";
  workers_[worker] = {{}, {}, 0, /*connected=*/false};
  Show("25", nonce, JobPhase::kAlive);
  (void)Look();
  ASSERT_TRUE(Last().heard);
  EXPECT_THAT(ThePool().record.classes, testing::IsEmpty());
  workers_[worker] = {{"a100"}, {"cuda"}, 1};
  EXPECT_EQ(Look().pools.size(), 1u);
  EXPECT_THAT(ThePool().record.classes, testing::ElementsAre("a100"));
  EXPECT_THAT(ThePool().record.stacks, testing::ElementsAre("cuda"));
  EXPECT_EQ(Look().pools.size(), 0u) << "once";
}

TEST_F(FleetTest, OfAWorkerThatTheClusterHasStartedAgainTheConnectedOneCounts) {
  Start();
  const std::string nonce = LaunchOne("25");
  workers_["a100-" + nonce + "-0"] = {{"a100"}, {"cuda"}, 1, /*connected=*/false};
  workers_["a100-" + nonce + "-0-r1"] = {{"a100"}, {"cuda"}, 1};
  jobs_.clear();
  for (int i = 0; i < 5; ++i) (void)Look();
  EXPECT_EQ(ThePool().live.size(), 1u);
  workers_["a100-" + nonce + "-0-r1"].connected = false;
  (void)Look();
  (void)Look();
  EXPECT_EQ(Last().end, LaunchEnd::kGone);
}

TEST_F(FleetTest, AWorkerThatIsHereIsNotGivenUpThoughItsJobIsNotShown) {
  Start();
  const std::string nonce = LaunchOne("25");
  Connect("a100-" + nonce + "-0");
  jobs_.clear();
  for (int i = 0; i < 5; ++i) (void)Look();
  EXPECT_EQ(ThePool().live.size(), 1u);
  workers_.clear();
  (void)Look();
  EXPECT_EQ(ThePool().live.size(), 1u);
  (void)Look();
  EXPECT_EQ(Last().end, LaunchEnd::kGone);
  EXPECT_EQ(ThePool().crashes, 0u);
}

TEST_F(FleetTest, WhileTheClusterIsAwayNothingIsGivenUpAndNothingLaunched) {
  Start();
  (void)LaunchOne("25");
  jobs_.clear();
  members_ = 8;
  for (int i = 0; i < 20; ++i) {
    const Decisions decisions = LookUnheard();
    EXPECT_THAT(decisions.submits, IsEmpty());
    EXPECT_THAT(decisions.cancels, IsEmpty());
    EXPECT_THAT(decisions.launches, IsEmpty());
  }
  EXPECT_EQ(ThePool().live.size(), 1u);
  EXPECT_EQ(Look(true, /*unasked=*/true).submits.size(), 1u) << "it answered the last time";
}

// ---- Failures.

TEST_F(FleetTest, ThreeWorkersThatFailInARowPauseThePool) {
  Start();
  LiveOne("21", true, JobPhase::kBroken);
  LiveOne("22", false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  LiveOne("23", true, JobPhase::kBroken);
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_THAT(pools_.at(1).why, HasSubstr("its last 3 workers failed, the last one (a100-n"));
  EXPECT_THAT(pools_.at(1).why, HasSubstr("-0) with FAILED"));
  EXPECT_THAT(happened_, ElementsAre("pool_paused"));
  ASSERT_TRUE(ThePool().last_crash);
  EXPECT_EQ(ThePool().last_crash->job, "23");
}

TEST_F(FleetTest, OneThatEndsWellButWasNeverHeardHasFailed) {
  Start();
  for (const char* key : {"21", "22", "23"}) LiveOne(key, false, JobPhase::kWell);
  EXPECT_EQ(ThePool().record.state, PoolState::kPaused);
}

TEST_F(FleetTest, WhatOthersTakeIsNoFailure) {
  Start();
  for (const char* key : {"21", "22", "23", "24"}) LiveOne(key, false, JobPhase::kTaken);
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  EXPECT_EQ(ThePool().crashes, 0u);
}

TEST_F(FleetTest, OneThatWasHeardAndEndsWellForgivesTheFailures) {
  Start();
  LiveOne("21", false, JobPhase::kBroken);
  LiveOne("22", false, JobPhase::kBroken);
  LiveOne("23", true, JobPhase::kWell);
  EXPECT_EQ(ThePool().crashes, 0u);
  LiveOne("24", false, JobPhase::kBroken);
  LiveOne("25", false, JobPhase::kTaken);  // Says nothing.
  LiveOne("26", false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  LiveOne("27", false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kPaused);
}

TEST_F(FleetTest, ResumeForgivesTheFailures) {
  Start();
  for (const char* key : {"21", "22", "23"}) LiveOne(key, false, JobPhase::kBroken);
  (void)Keep(*fleet_.Resume("a100", "alice"));
  EXPECT_EQ(ThePool().crashes, 0u);
  for (const char* key : {"24", "25"}) LiveOne(key, false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kActive);
  LiveOne("26", false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kPaused);
}

}  // namespace
}  // namespace noisefloor::fleet
