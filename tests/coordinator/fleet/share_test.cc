// Who gets the members that wait, how many workers are launched for them, and what is taken back.
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "coordinator/fleet/fleet.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

PoolRecord SharedPoolOf(uint64_t number, const std::string& hardware, uint32_t most) {
  PoolRecord pool;
  pool.number = number;
  pool.wish.name = "p" + std::to_string(number);
  pool.wish.most = most;
  pool.wish.backlog = 100;
  pool.tag = "tag";
  if (!hardware.empty()) pool.classes = {hardware};
  pool.stacks = {"cuda"};
  return pool;
}

LaunchRecord LaunchOf(uint64_t number, LaunchPhase phase, bool heard, uint64_t pool = 1) {
  LaunchRecord launch;
  launch.number = number;
  launch.pool = pool;
  launch.nonce = "old" + std::to_string(number);
  launch.phase = phase;
  launch.heard = heard;
  launch.job = std::to_string(number);
  return launch;
}

Job JobOf(const PoolRecord& pool, const LaunchRecord& launch) {
  Job job;
  job.key = launch.job;
  job.name = JobName(pool, launch);
  job.index = launch.index;
  job.phase = launch.phase == LaunchPhase::kWaiting ? JobPhase::kWaiting : JobPhase::kAlive;
  return job;
}

std::map<uint64_t, Pool> PoolsOf(std::vector<PoolRecord> records,
                                 std::vector<LaunchRecord> launches = {}) {
  return Fleet({}, std::move(records), std::move(launches), {}, 9, 99).pools();
}

TEST(Shares, GoToThePoolThatHasTheClass) {
  const auto pools = PoolsOf({SharedPoolOf(1, "a100", 8), SharedPoolOf(2, "h100", 8)});
  EXPECT_THAT(Share(pools, {{"h100", "", 3}, {"a100", "", 2}}),
              ElementsAre(Pair(1, 2), Pair(2, 3)));
  EXPECT_THAT(Share(pools, {{"v100", "", 3}}), IsEmpty());
  EXPECT_THAT(Share(pools, {}), IsEmpty());
  EXPECT_THAT(Share({}, {{"a100", "", 3}}), IsEmpty());
}

TEST(Shares, FillTheFirstPoolOfAClassAndThenTheNext) {
  const auto pools = PoolsOf({SharedPoolOf(1, "a100", 2), SharedPoolOf(2, "a100", 2)});
  EXPECT_EQ(Share(pools, {{"a100", "", 1}})[1], 1u);
  EXPECT_EQ(Share(pools, {{"a100", "", 1}})[2], 0u);
  EXPECT_THAT(Share(pools, {{"a100", "", 3}}), ElementsAre(Pair(1, 2), Pair(2, 1)));
  EXPECT_THAT(Share(pools, {{"a100", "", 9}}), ElementsAre(Pair(1, 2), Pair(2, 2)))
      << "nobody has room for the rest";
}

TEST(Shares, WhatTakesLongerThanAJobLivesFallsToNobody) {
  PoolRecord brief = SharedPoolOf(1, "a100", 4);
  brief.wish.time_limit = absl::Hours(1);
  brief.wish.drain_before = absl::Minutes(10);
  const std::vector<Waiting> waiting = {{"a100", "", 3, absl::Minutes(48)},
                                        {"a100", "", 2, absl::Minutes(49)},
                                        {"a100", "", 1, absl::Hours(9)},
                                        {"h100", "", 7, absl::Hours(9)}};
  const auto alone = PoolsOf({brief});
  EXPECT_THAT(Share(alone, waiting), ElementsAre(Pair(1, 3)));
  const std::optional<Waiting> too_long = TooLongFor(alone.at(1), waiting);
  ASSERT_TRUE(too_long);
  EXPECT_EQ(too_long->members, 3u);
  EXPECT_EQ(too_long->time, absl::Minutes(49));
  const auto both = PoolsOf({brief, SharedPoolOf(2, "a100", 9)});
  EXPECT_THAT(Share(both, waiting), ElementsAre(Pair(1, 3), Pair(2, 3))) << "of no limit";
  EXPECT_FALSE(TooLongFor(both.at(2), waiting));
}

TEST(Shares, APoolSaysThatItsJobsAreTooShort) {
  PoolRecord brief = SharedPoolOf(1, "a100", 4);
  brief.wish.time_limit = absl::Hours(1);
  Fleet fleet({}, {brief}, {}, {}, 9, 99);
  View view;
  view.now = kStart;
  view.jobs.emplace();
  view.waiting = {{"a100", "", 3, absl::Hours(2)}};
  EXPECT_THAT(fleet.Look(view).submits, IsEmpty());
  EXPECT_EQ(Explain(fleet.pools().at(1), kStart),
            "3 that wait take 2h or more and keep no checkpoints; its jobs live 1h (--time)");
  view.waiting = {};
  EXPECT_THAT(fleet.Look(view).submits, IsEmpty());
  EXPECT_EQ(Explain(fleet.pools().at(1), kStart), "nothing waits that it could train");
}

TEST(Shares, WhoTakesAnyClassStandsBack) {
  const auto pools = PoolsOf({SharedPoolOf(1, "a100", 4), SharedPoolOf(2, "h100", 4)});
  EXPECT_THAT(Share(pools, {{"", "", 5}, {"a100", "", 3}}), ElementsAre(Pair(1, 4), Pair(2, 4)));
  EXPECT_THAT(Share(pools, {{"", "", 9}, {"a100", "", 9}, {"h100", "", 9}}),
              ElementsAre(Pair(1, 4), Pair(2, 4)));
}

TEST(Shares, AStackMustBeThere) {
  const auto pools = PoolsOf({SharedPoolOf(1, "a100", 4)});
  EXPECT_THAT(Share(pools, {{"a100", "rocm", 3}}), IsEmpty());
  EXPECT_THAT(Share(pools, {{"a100", "cuda", 3}, {"", "cuda", 1}}), ElementsAre(Pair(1, 4)));
}

TEST(Shares, WorkersThatAreHereAreBusyAndHaveSlots) {
  PoolRecord pool = SharedPoolOf(1, "a100", 3);
  pool.slots = 4;
  const auto pools = PoolsOf(
      {pool}, {LaunchOf(1, LaunchPhase::kAlive, true), LaunchOf(2, LaunchPhase::kAlive, false)});
  EXPECT_THAT(Share(pools, {{"a100", "", 100}}), ElementsAre(Pair(1, 8)));
}

TEST(Shares, FallToNoPoolThatDoesNotGrow) {
  PoolRecord paused = SharedPoolOf(1, "a100", 3);
  PoolRecord removing = SharedPoolOf(2, "a100", 3);
  paused.state = PoolState::kPaused;
  removing.state = PoolState::kRemoving;
  EXPECT_THAT(Share(PoolsOf({paused, removing, SharedPoolOf(3, "a100", 3)}), {{"a100", "", 2}}),
              ElementsAre(Pair(3, 2)));
}

TEST(Shares, APoolThatNobodyHasSeenTakesOneToSee) {
  EXPECT_THAT(Share(PoolsOf({SharedPoolOf(1, "", 3)}), {{"a100", "", 5}}), ElementsAre(Pair(1, 1)));
  const auto seen_soon =
      PoolsOf({SharedPoolOf(1, "", 3)}, {LaunchOf(1, LaunchPhase::kAlive, true)});
  EXPECT_EQ(Share(seen_soon, {{"a100", "", 5}})[1], 0u) << "it is here";
  PoolRecord wished = SharedPoolOf(1, "", 3);
  wished.wish.hardware = "h100";
  EXPECT_THAT(Share(PoolsOf({wished}), {{"a100", "", 5}}), IsEmpty());
  EXPECT_THAT(Share(PoolsOf({wished}), {{"h100", "", 5}}), ElementsAre(Pair(1, 1)));
}

// One pool, number 1, of class a100, and what it decides.
class SizeTest : public testing::Test {
 protected:
  void Start(const PoolRecord& pool, std::vector<LaunchRecord> launches = {}) {
    for (const LaunchRecord& launch : launches) jobs_.push_back(JobOf(pool, launch));
    fleet_ = Fleet({}, {pool}, std::move(launches), {}, 9, 99);
  }
  View ViewOf(uint64_t members) {
    View view;
    view.now = kStart;
    view.waiting = {{"a100", "", members}};
    view.workers = workers_;
    view.jobs = jobs_;
    view.nonce = "n" + std::to_string(++views_);
    return view;
  }
  // The cluster takes what is submitted, and does not begin it.
  Decisions Look(uint64_t members) {
    Decisions decisions = fleet_.Look(ViewOf(members));
    for (const LaunchRecord& launch : decisions.launches) kept_[launch.number] = launch;
    for (const Submit& submit : decisions.submits) {
      const std::string job = "s" + std::to_string(jobs_.size());
      (void)fleet_.Submitted(submit, job, kStart);
      for (const auto& [number, launch] : fleet_.pools().at(submit.pool).live) {
        if (launch.record.nonce == submit.nonce) {
          jobs_.push_back(JobOf(fleet_.pools().at(submit.pool).record, launch.record));
        }
      }
    }
    return decisions;
  }
  // "2" for two, "2 stay" for two that stay.
  static std::vector<std::string> Asked(const Decisions& decisions) {
    std::vector<std::string> asked;
    for (const Submit& submit : decisions.submits) {
      asked.push_back(std::to_string(submit.count) + (submit.stays ? " stay" : ""));
    }
    return asked;
  }
  static std::vector<std::string> Cancelled(const Decisions& decisions) {
    std::vector<std::string> jobs;
    for (const Cancel& cancel : decisions.cancels) jobs.push_back(cancel.job);
    return jobs;
  }

  Fleet fleet_;
  std::vector<Job> jobs_;
  std::map<std::string, SeenWorker> workers_;
  std::map<uint64_t, LaunchRecord> kept_;
  int views_ = 0;
};

TEST_F(SizeTest, NothingIsLaunchedForNothing) {
  Start(SharedPoolOf(1, "a100", 8));
  EXPECT_THAT(Asked(Look(0)), IsEmpty());
}

TEST_F(SizeTest, OneJobForEachMemberInOneArrayThatIsKeptBefore) {
  Start(SharedPoolOf(1, "a100", 8));
  const Decisions decisions = Look(3);
  ASSERT_EQ(decisions.submits.size(), 1u);
  EXPECT_EQ(decisions.submits[0].pool, 1u);
  EXPECT_EQ(decisions.submits[0].nonce, "n1");
  EXPECT_EQ(decisions.submits[0].count, 3u);
  EXPECT_FALSE(decisions.submits[0].stays);
  ASSERT_EQ(decisions.launches.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    const LaunchRecord& launch = decisions.launches[i];
    EXPECT_EQ(launch.number, 100 + i);
    EXPECT_EQ(launch.pool, 1u);
    EXPECT_EQ(launch.nonce, "n1");
    EXPECT_EQ(launch.index, i);
    EXPECT_EQ(launch.phase, LaunchPhase::kIntended);
    EXPECT_EQ(launch.job, "");
    EXPECT_EQ(launch.created, kStart);
  }
  EXPECT_THAT(Asked(Look(3)), IsEmpty()) << "they are coming";
  EXPECT_THAT(Asked(Look(4)), ElementsAre("1"));
}

TEST_F(SizeTest, NeverMoreThanItsMost) {
  Start(SharedPoolOf(1, "a100", 5), {LaunchOf(1, LaunchPhase::kAlive, true)});
  EXPECT_THAT(Asked(Look(50)), ElementsAre("4"));
  EXPECT_THAT(Asked(Look(50)), IsEmpty());
}

TEST_F(SizeTest, NoMoreThanItsBacklogWaitForTheCluster) {
  PoolRecord pool = SharedPoolOf(1, "a100", 9);
  pool.wish.backlog = 3;
  Start(pool, {LaunchOf(1, LaunchPhase::kWaiting, false), LaunchOf(2, LaunchPhase::kAlive, false)});
  EXPECT_THAT(Asked(Look(9)), ElementsAre("2"));
  EXPECT_THAT(Asked(Look(9)), IsEmpty());
}

TEST_F(SizeTest, AWorkerTrainsAsManyAsItHasSlots) {
  PoolRecord pool = SharedPoolOf(1, "a100", 9);
  pool.slots = 4;
  Start(pool);
  EXPECT_THAT(Asked(Look(4)), ElementsAre("1"));
  EXPECT_THAT(Asked(Look(5)), ElementsAre("1")) << "a second";
  EXPECT_THAT(Asked(Look(8)), IsEmpty());
}

TEST_F(SizeTest, ItsLeastStayThoughNothingWaits) {
  PoolRecord pool = SharedPoolOf(1, "a100", 4);
  pool.wish.least = 2;
  Start(pool);
  const Decisions decisions = Look(0);
  EXPECT_THAT(Asked(decisions), ElementsAre("2 stay"));
  for (const LaunchRecord& launch : decisions.launches) EXPECT_TRUE(launch.stays);
  EXPECT_THAT(Asked(Look(2)), IsEmpty()) << "those come";
  EXPECT_THAT(Asked(Look(9)), ElementsAre("2")) << "others, as far as there is room";
}

TEST_F(SizeTest, ThoseThatStayAndTheOthersAreSubmittedApart) {
  PoolRecord pool = SharedPoolOf(1, "a100", 8);
  pool.wish.least = 1;
  Start(pool);
  const Decisions decisions = Look(4);
  EXPECT_THAT(Asked(decisions), ElementsAre("1 stay", "3"));
  EXPECT_NE(decisions.submits[0].nonce, decisions.submits[1].nonce);
}

TEST_F(SizeTest, AWorkerThatIsBusyDoesNotCountForThoseThatWait) {
  Start(SharedPoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kAlive, true)});
  EXPECT_THAT(Asked(Look(2)), ElementsAre("2"));
}

TEST_F(SizeTest, APoolThatNobodyHasSeenLaunchesOne) {
  Start(SharedPoolOf(1, "", 8));
  EXPECT_THAT(Asked(Look(0)), ElementsAre("1")) << "unasked";
  EXPECT_THAT(Asked(Look(50)), IsEmpty());
}

TEST_F(SizeTest, APoolThatNobodyHasSeenLaunchesOneOfItsLeast) {
  PoolRecord pool = SharedPoolOf(1, "", 8);
  pool.wish.least = 1;
  Start(pool);
  EXPECT_THAT(Asked(Look(50)), ElementsAre("1 stay"));
}

TEST_F(SizeTest, TheFirstWorkerShowsWhatTheyHave) {
  Start(SharedPoolOf(1, "", 8));
  (void)Look(0);
  workers_["p1-n1-0"] = {{"a100", "cpu"}, {"cuda", "st2"}, 2};
  jobs_[0].phase = JobPhase::kAlive;
  const Decisions decisions = Look(4);
  ASSERT_EQ(decisions.pools.size(), 1u);
  EXPECT_THAT(decisions.pools[0].classes, ElementsAre("a100", "cpu"));
  EXPECT_THAT(decisions.pools[0].stacks, ElementsAre("cuda", "st2"));
  EXPECT_EQ(decisions.pools[0].slots, 2u);
  EXPECT_EQ(fleet_.Find("p1")->record, decisions.pools[0]);
  EXPECT_THAT(Asked(decisions), ElementsAre("2")) << "four members on two slots each";
  EXPECT_THAT(Look(4).pools, IsEmpty()) << "nothing new";
}

TEST_F(SizeTest, OfAWorkerThatHasTheWishedClassOnlyThatIsTaken) {
  PoolRecord pool = SharedPoolOf(1, "", 8);
  pool.wish.hardware = "a100";
  Start(pool);
  (void)Look(0);
  workers_["p1-n1-0"] = {{"cpu", "a100"}, {"cuda"}, 0};
  const Decisions decisions = Look(0);
  ASSERT_EQ(decisions.pools.size(), 1u);
  EXPECT_THAT(decisions.pools[0].classes, ElementsAre("a100"));
  EXPECT_EQ(decisions.pools[0].slots, 1u) << "one at least";
  EXPECT_EQ(decisions.pools[0].state, PoolState::kActive);
}

TEST_F(SizeTest, WhatNobodyWaitsForIsTakenBackAfterTwoLooksTheNewestFirst) {
  Start(SharedPoolOf(1, "a100", 8),
        {LaunchOf(1, LaunchPhase::kWaiting, false), LaunchOf(2, LaunchPhase::kWaiting, false),
         LaunchOf(3, LaunchPhase::kWaiting, false)});
  EXPECT_THAT(Cancelled(Look(1)), IsEmpty());
  const Decisions decisions = Look(1);
  EXPECT_THAT(Cancelled(decisions), ElementsAre("3", "2"));
  EXPECT_EQ(decisions.cancels[0].name, "nf-p1-tag-old3");
  jobs_[1].phase = jobs_[2].phase = JobPhase::kTaken;
  (void)Look(1);
  for (const uint64_t number : {2, 3}) {
    EXPECT_EQ(kept_[number].phase, LaunchPhase::kEnded);
    EXPECT_EQ(kept_[number].end, LaunchEnd::kSurplus);
    EXPECT_EQ(kept_[number].ended, kStart);
  }
  EXPECT_EQ(fleet_.Find("p1")->live.size(), 1u);
  EXPECT_EQ(fleet_.Find("p1")->crashes, 0u);
}

TEST_F(SizeTest, OneLookAtWhichTheyAreWaitedForStartsAnew) {
  Start(SharedPoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(1)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
}

TEST_F(SizeTest, WhatStaysOrRunsIsNotTakenBack) {
  PoolRecord pool = SharedPoolOf(1, "a100", 8);
  pool.wish.least = 1;
  LaunchRecord stays = LaunchOf(4, LaunchPhase::kWaiting, false);
  stays.stays = true;
  Start(pool, {LaunchOf(1, LaunchPhase::kAlive, false), LaunchOf(2, LaunchPhase::kAlive, true),
               LaunchOf(3, LaunchPhase::kWaiting, false), stays});
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("3"));
  jobs_[2].phase = JobPhase::kTaken;
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
}

// Between two questions to the cluster a worker is heard before its job is seen to run.
TEST_F(SizeTest, AWorkerThatIsHereIsNotTakenBackThoughItsJobIsNotYetSeenToRun) {
  Start(SharedPoolOf(1, "a100", 8),
        {LaunchOf(1, LaunchPhase::kWaiting, false), LaunchOf(2, LaunchPhase::kWaiting, false)});
  (void)Look(2);
  workers_["p1-old2-0"] = {{"a100"}, {"cuda"}, 1};
  View view = ViewOf(0);
  view.jobs.reset();
  view.unasked = true;
  EXPECT_THAT(Cancelled(fleet_.Look(view)), IsEmpty());
  EXPECT_THAT(Cancelled(fleet_.Look(view)), ElementsAre("1"));
}

// It may have jobs that a process before this one was about to end.
TEST_F(SizeTest, NothingIsLaunchedBeforeTheClusterIsHeardOnce) {
  Start(SharedPoolOf(1, "a100", 8));
  View view = ViewOf(3);
  view.jobs.reset();
  view.unasked = true;
  EXPECT_THAT(fleet_.Look(view).submits, IsEmpty());
  EXPECT_THAT(Asked(Look(3)), ElementsAre("3"));
}

TEST_F(SizeTest, NothingIsTakenBackOfAClusterThatIsNotHeard) {
  Start(SharedPoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  View view = ViewOf(0);
  view.jobs.reset();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Cancelled(fleet_.Look(view)), IsEmpty());
  EXPECT_EQ(fleet_.Find("p1")->live.size(), 1u);
}

// A command that was lost must not leave a job behind that nobody knows.
TEST_F(SizeTest, WhatWasTakenBackIsCancelledAgainWhileTheClusterShowsIt) {
  Start(SharedPoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  (void)Look(0);
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
  jobs_.clear();
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
}

TEST_F(SizeTest, OfAPausedPoolWhatWaitsIsTakenBackAndNothingIsLaunched) {
  PoolRecord pool = SharedPoolOf(1, "a100", 8);
  pool.state = PoolState::kPaused;
  pool.wish.least = 1;
  LaunchRecord stays = LaunchOf(3, LaunchPhase::kAlive, true);
  stays.stays = true;
  Start(pool,
        {LaunchOf(1, LaunchPhase::kAlive, true), LaunchOf(2, LaunchPhase::kWaiting, false), stays});
  const Decisions first = Look(5);
  const Decisions second = Look(5);
  EXPECT_THAT(Asked(first), IsEmpty());
  EXPECT_THAT(Asked(second), IsEmpty());
  EXPECT_THAT(Cancelled(second), ElementsAre("2"));
}

std::string Standing(const PoolRecord& pool, std::vector<LaunchRecord> launches = {}) {
  const Fleet fleet({}, {pool}, std::move(launches), {}, 9, 99);
  return Explain(fleet.pools().begin()->second, kStart);
}

TEST(WhereAPoolStands, IsASentence) {
  PoolRecord pool = SharedPoolOf(1, "a100", 8);
  EXPECT_EQ(Standing(pool), "nothing waits that it could train");
  EXPECT_EQ(Standing(pool, {LaunchOf(1, LaunchPhase::kAlive, true),
                            LaunchOf(2, LaunchPhase::kAlive, false),
                            LaunchOf(3, LaunchPhase::kAlive, true)}),
            "2 at work, 1 starting");
  LaunchRecord waits = LaunchOf(4, LaunchPhase::kWaiting, false);
  waits.reason = "Nonsense";
  EXPECT_EQ(Standing(pool, {LaunchOf(1, LaunchPhase::kAlive, true), waits}),
            "waits for the cluster: Nonsense");
  waits.reason = "Resources";
  EXPECT_THAT(Standing(pool, {waits}),
              testing::StartsWith("waits for the cluster: Resources (all that it asks for"));
  pool.state = PoolState::kPaused;
  pool.why = "paused by alice";
  EXPECT_EQ(Standing(pool, {waits}), "paused: paused by alice");
  pool.state = PoolState::kRemoving;
  EXPECT_EQ(Standing(pool, {waits}), "is being removed: its jobs are ended");
}

TEST(WhereAPoolStands, SaysWhenARefusedOneTriesAgain) {
  Fleet fleet({}, {SharedPoolOf(1, "a100", 8)}, {}, {}, 9, 99);
  for (int i = 0; i < 3; ++i) {
    (void)fleet.Submitted({1, "n", 1, false}, InvalidInput("bad account"), kStart);
  }
  EXPECT_EQ(Explain(*fleet.Find("p1"), kStart + absl::Milliseconds(61500)),
            "the cluster has refused its jobs 3 times in a row: bad account; next try in 3m58s");
}

}  // namespace
}  // namespace noisefloor::fleet
