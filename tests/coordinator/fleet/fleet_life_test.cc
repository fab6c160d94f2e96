// What a fleet is after a restart, at its GPU hours, and when its pools go.
#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/fleet/fleet.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---- Restored.

LaunchRecord Ended(uint64_t number, absl::Duration after, LaunchEnd end, bool heard) {
  LaunchRecord launch;
  launch.number = number;
  launch.pool = 1;
  launch.nonce = "e" + std::to_string(number);
  launch.phase = LaunchPhase::kEnded;
  launch.end = end;
  launch.heard = heard;
  launch.began = kStart;
  launch.ended = kStart + after;
  return launch;
}

TEST(RestoredFleet, CountsFailuresInTheOrderInWhichTheyEnded) {
  const auto crashes = [](std::vector<LaunchRecord> launches) {
    const Fleet fleet({}, {KnownPool()}, std::move(launches), {}, 1, 9);
    return fleet.pools().at(1).crashes;
  };
  const auto minute = absl::Minutes(1);
  EXPECT_EQ(crashes({}), 0u);
  EXPECT_EQ(crashes({Ended(1, 3 * minute, LaunchEnd::kBroken, true),
                     Ended(2, 1 * minute, LaunchEnd::kWell, true),
                     Ended(3, 2 * minute, LaunchEnd::kWell, false)}),
            2u);
  EXPECT_EQ(crashes({Ended(1, 1 * minute, LaunchEnd::kBroken, true),
                     Ended(2, 3 * minute, LaunchEnd::kWell, true),
                     Ended(3, 2 * minute, LaunchEnd::kBroken, true)}),
            0u);
  EXPECT_EQ(crashes({Ended(1, 1 * minute, LaunchEnd::kBroken, false),
                     Ended(2, 2 * minute, LaunchEnd::kTaken, false),
                     Ended(3, 3 * minute, LaunchEnd::kGone, false)}),
            1u);
}

TEST_F(FleetTest, RestoredItGoesOnAsItWas) {
  Start();
  LiveOne("21", false, JobPhase::kBroken);
  LiveOne("22", false, JobPhase::kBroken);
  (void)LaunchOne("23");
  fleet_ = Fleet({}, {pools_.at(1)}, Kept(), {{1, absl::Hours(3)}}, 1, launches_.rbegin()->first);
  EXPECT_EQ(ThePool().crashes, 2u);
  EXPECT_EQ(ThePool().used, absl::Hours(3));
  ASSERT_EQ(ThePool().live.size(), 1u);
  EXPECT_EQ(ThePool().live.at(3).record, launches_.at(3));
  members_ = 2;
  (void)Look();
  EXPECT_EQ(Last().number, 4u) << "numbers rise for ever";
}

TEST_F(FleetTest, AnIntentionIsFoundByItsNameAfterARestart) {
  Start();
  members_ = 1;
  (void)Look();  // Kept; then the coordinator ends, before or after the cluster is asked.
  fleet_ = Fleet({}, {pools_.at(1)}, Kept(), {}, 1, 1);
  Show("25", "n1", JobPhase::kWaiting);
  EXPECT_THAT(Look().submits, IsEmpty());
  EXPECT_EQ(launches_.at(1).job, "25");
}

TEST_F(FleetTest, WhatResumeForgaveIsForgivenAfterARestart) {
  Start();
  for (const char* key : {"21", "22", "23"}) LiveOne(key, false, JobPhase::kBroken);
  (void)Keep(*fleet_.Resume("a100", "alice"));
  fleet_ = Fleet({}, {pools_.at(1)}, Kept(), {}, 1, launches_.rbegin()->first);
  LiveOne("24", false, JobPhase::kBroken);
  EXPECT_EQ(ThePool().record.state, PoolState::kActive) << ThePool().record.why;
}

// ---- GPU hours.

TEST_F(FleetTest, AtItsGpuHoursAPoolIsPausedAndWhatRunsGoesOn) {
  PoolRecord pool = KnownPool();
  pool.wish.cluster = {"--gres=gpu:a100:2"};
  pool.wish.gpu_hours = 10;
  Start(pool);
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kAlive);
  const absl::Time began = now_;
  Connect("a100-" + nonce + "-0");
  now_ = began + absl::Hours(5) - kPoll - absl::Seconds(1);
  members_ = 1;
  EXPECT_EQ(Look().submits.size(), 1u);
  EXPECT_NEAR(GpuHours(ThePool(), began + absl::Hours(2)), 4, 1e-9);
  now_ = began + absl::Hours(5) - kPoll;
  members_ = 4;
  EXPECT_THAT(Look().submits, IsEmpty());
  EXPECT_EQ(pools_.at(1).state, PoolState::kPaused);
  EXPECT_EQ(pools_.at(1).why, "its GPU hours are used up");
  for (const Cancel& cancel : Look().cancels) EXPECT_NE(cancel.job, "25");
}

TEST_F(FleetTest, GpuHoursAreOfJobsThatHaveEndedToo) {
  Start();
  const std::string nonce = LaunchOne("25");
  Show("25", nonce, JobPhase::kAlive);
  const absl::Time began = now_;
  (void)Look();
  now_ = began + absl::Hours(3);
  jobs_[0].phase = JobPhase::kTaken;
  jobs_[0].ends = began + absl::Hours(2);
  (void)Look();
  EXPECT_NEAR(GpuHours(ThePool(), now_ + absl::Hours(9)), 2, 1e-9);
  EXPECT_EQ(GpuHours(Pool{}, now_), 0);
}

TEST_F(FleetTest, WaitingIsFree) {
  Start();
  (void)LaunchOne("25");
  members_ = 1;
  now_ += absl::Hours(100);
  (void)Look();
  EXPECT_EQ(GpuHours(ThePool(), now_), 0);
}

// ---- Removed.

TEST_F(FleetTest, ARemovedPoolGoesWhenTheClusterSaysThatItsLastJobHasEnded) {
  Start();
  const std::string runs = LaunchOne("25");
  Show("25", runs, JobPhase::kAlive);
  Connect("a100-" + runs + "-0");
  const std::string waits = LaunchOne("26");
  (void)Keep(*fleet_.Remove("a100", "alice"));
  EXPECT_EQ(pools_.at(1).state, PoolState::kRemoving);

  members_ = 5;
  const Decisions decisions = Look();
  EXPECT_THAT(decisions.submits, IsEmpty());
  EXPECT_THAT(decisions.gone, IsEmpty());
  std::set<std::string> cancelled;
  for (const Cancel& one : decisions.cancels) cancelled.insert(one.name + " " + one.job);
  EXPECT_THAT(cancelled, ElementsAre("nf-a100-1f2e-" + runs + " ", "nf-a100-1f2e-" + waits + " "));
  EXPECT_EQ(fleet_.Add(WishOf("a100"), "x", "", now_).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(fleet_.Resume("a100", "").status().code(), absl::StatusCode::kFailedPrecondition);

  Show("26", waits, JobPhase::kTaken);
  EXPECT_THAT(Look().gone, IsEmpty());
  EXPECT_THAT(LookUnheard().gone, IsEmpty());
  Show("25", runs, JobPhase::kTaken);
  EXPECT_THAT(Look().gone, ElementsAre(1));
  EXPECT_TRUE(fleet_.empty());
  EXPECT_EQ(fleet_.Add(WishOf("a100"), "x", "", now_)->pools[0].number, 2u) << "rises for ever";
}

TEST_F(FleetTest, ARemovedPoolWithoutJobsGoesAtTheNextLook) {
  Start();
  (void)Keep(*fleet_.Remove("a100", ""));
  EXPECT_THAT(Look().gone, ElementsAre(1));
}

TEST_F(FleetTest, WhatWasSubmittedTogetherIsEndedByOneQuestion) {
  Start();
  members_ = 3;
  (void)Answer(Look().submits.at(0), "24");
  for (uint32_t i = 0; i < 3; ++i) {
    Show("24_" + std::to_string(i), "n1", i == 0 ? JobPhase::kAlive : JobPhase::kWaiting, i);
  }
  (void)Keep(*fleet_.Remove("a100", ""));
  EXPECT_EQ(Look().cancels.size(), 1u);
}

TEST_F(FleetTest, OfARemovedPoolWhatWasNotAnsweredIsCancelledByItsName) {
  Start();
  members_ = 1;
  (void)Answer(Look().submits.at(0), absl::UnavailableError("nobody"));
  (void)Keep(*fleet_.Remove("a100", ""));
  const Decisions decisions = Look();
  ASSERT_EQ(decisions.cancels.size(), 1u);
  EXPECT_EQ(decisions.cancels[0].name, "nf-a100-1f2e-n1");
  EXPECT_EQ(decisions.cancels[0].job, "");
  EXPECT_THAT(Look().gone, ElementsAre(1)) << "two polls do not show it";
}

// Nothing is left that the removal does not know of.
TEST_F(FleetTest, ARemovedPoolEndsAlsoAJobThatWasGivenUp) {
  Start();
  const std::string nonce = LaunchOne("25");
  jobs_.clear();
  (void)Look();
  (void)Look();
  EXPECT_EQ(Last().end, LaunchEnd::kGone);
  Show("25", nonce, JobPhase::kAlive);  // The cluster knows it again.
  (void)Keep(*fleet_.Remove("a100", ""));
  EXPECT_THAT(LookUnheard().gone, IsEmpty()) << "nobody says that none is left";
  const Decisions decisions = Look();
  ASSERT_EQ(decisions.cancels.size(), 1u);
  EXPECT_EQ(decisions.cancels[0].name, "nf-a100-1f2e-" + nonce);
  EXPECT_THAT(decisions.gone, IsEmpty());
}

}  // namespace
}  // namespace noisefloor::fleet
