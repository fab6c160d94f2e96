// Who gets the members that wait, how many workers are launched for them, and what is taken back;
// and that all bounds hold whatever happens.
#include <algorithm>
#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "common/base/philox.h"
#include "coordinator/fleet/fleet.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const absl::Time kNow = absl::FromUnixSeconds(1700000000);

PoolRecord PoolOf(uint64_t number, const std::string& hardware, uint32_t most) {
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
  const auto pools = PoolsOf({PoolOf(1, "a100", 8), PoolOf(2, "h100", 8)});
  EXPECT_THAT(Share(pools, {{"h100", "", 3}, {"a100", "", 2}}),
              ElementsAre(Pair(1, 2), Pair(2, 3)));
  EXPECT_THAT(Share(pools, {{"v100", "", 3}}), IsEmpty());
  EXPECT_THAT(Share(pools, {}), IsEmpty());
  EXPECT_THAT(Share({}, {{"a100", "", 3}}), IsEmpty());
}

TEST(Shares, FillTheFirstPoolOfAClassAndThenTheNext) {
  const auto pools = PoolsOf({PoolOf(1, "a100", 2), PoolOf(2, "a100", 2)});
  EXPECT_EQ(Share(pools, {{"a100", "", 1}})[1], 1u);
  EXPECT_EQ(Share(pools, {{"a100", "", 1}})[2], 0u);
  EXPECT_THAT(Share(pools, {{"a100", "", 3}}), ElementsAre(Pair(1, 2), Pair(2, 1)));
  EXPECT_THAT(Share(pools, {{"a100", "", 9}}), ElementsAre(Pair(1, 2), Pair(2, 2)))
      << "nobody has room for the rest";
}

TEST(Shares, WhatTakesLongerThanAJobLivesFallsToNobody) {
  PoolRecord brief = PoolOf(1, "a100", 4);
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
  const auto both = PoolsOf({brief, PoolOf(2, "a100", 9)});
  EXPECT_THAT(Share(both, waiting), ElementsAre(Pair(1, 3), Pair(2, 3))) << "of no limit";
  EXPECT_FALSE(TooLongFor(both.at(2), waiting));
}

TEST(Shares, APoolSaysThatItsJobsAreTooShort) {
  PoolRecord brief = PoolOf(1, "a100", 4);
  brief.wish.time_limit = absl::Hours(1);
  Fleet fleet({}, {brief}, {}, {}, 9, 99);
  View view;
  view.now = kNow;
  view.jobs.emplace();
  view.waiting = {{"a100", "", 3, absl::Hours(2)}};
  EXPECT_THAT(fleet.Look(view).submits, IsEmpty());
  EXPECT_EQ(Explain(fleet.pools().at(1), kNow),
            "3 that wait take 2h or more and keep no checkpoints; its jobs live 1h (--time)");
  view.waiting = {};
  EXPECT_THAT(fleet.Look(view).submits, IsEmpty());
  EXPECT_EQ(Explain(fleet.pools().at(1), kNow), "nothing waits that it could train");
}

TEST(Shares, WhoTakesAnyClassStandsBack) {
  const auto pools = PoolsOf({PoolOf(1, "a100", 4), PoolOf(2, "h100", 4)});
  EXPECT_THAT(Share(pools, {{"", "", 5}, {"a100", "", 3}}), ElementsAre(Pair(1, 4), Pair(2, 4)));
  EXPECT_THAT(Share(pools, {{"", "", 9}, {"a100", "", 9}, {"h100", "", 9}}),
              ElementsAre(Pair(1, 4), Pair(2, 4)));
}

TEST(Shares, AStackMustBeThere) {
  const auto pools = PoolsOf({PoolOf(1, "a100", 4)});
  EXPECT_THAT(Share(pools, {{"a100", "rocm", 3}}), IsEmpty());
  EXPECT_THAT(Share(pools, {{"a100", "cuda", 3}, {"", "cuda", 1}}), ElementsAre(Pair(1, 4)));
}

TEST(Shares, WorkersThatAreHereAreBusyAndHaveSlots) {
  PoolRecord pool = PoolOf(1, "a100", 3);
  pool.slots = 4;
  const auto pools = PoolsOf(
      {pool}, {LaunchOf(1, LaunchPhase::kAlive, true), LaunchOf(2, LaunchPhase::kAlive, false)});
  EXPECT_THAT(Share(pools, {{"a100", "", 100}}), ElementsAre(Pair(1, 8)));
}

TEST(Shares, FallToNoPoolThatDoesNotGrow) {
  PoolRecord paused = PoolOf(1, "a100", 3);
  PoolRecord removing = PoolOf(2, "a100", 3);
  paused.state = PoolState::kPaused;
  removing.state = PoolState::kRemoving;
  EXPECT_THAT(Share(PoolsOf({paused, removing, PoolOf(3, "a100", 3)}), {{"a100", "", 2}}),
              ElementsAre(Pair(3, 2)));
}

TEST(Shares, APoolThatNobodyHasSeenTakesOneToSee) {
  EXPECT_THAT(Share(PoolsOf({PoolOf(1, "", 3)}), {{"a100", "", 5}}), ElementsAre(Pair(1, 1)));
  PoolRecord wished = PoolOf(1, "", 3);
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
    view.now = kNow;
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
      (void)fleet_.Submitted(submit, job, kNow);
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
  Start(PoolOf(1, "a100", 8));
  EXPECT_THAT(Asked(Look(0)), IsEmpty());
}

TEST_F(SizeTest, OneJobForEachMemberInOneArrayThatIsKeptBefore) {
  Start(PoolOf(1, "a100", 8));
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
    EXPECT_EQ(launch.created, kNow);
  }
  EXPECT_THAT(Asked(Look(3)), IsEmpty()) << "they are coming";
  EXPECT_THAT(Asked(Look(4)), ElementsAre("1"));
}

TEST_F(SizeTest, NeverMoreThanItsMost) {
  Start(PoolOf(1, "a100", 5), {LaunchOf(1, LaunchPhase::kAlive, true)});
  EXPECT_THAT(Asked(Look(50)), ElementsAre("4"));
  EXPECT_THAT(Asked(Look(50)), IsEmpty());
}

TEST_F(SizeTest, NoMoreThanItsBacklogWaitForTheCluster) {
  PoolRecord pool = PoolOf(1, "a100", 9);
  pool.wish.backlog = 3;
  Start(pool, {LaunchOf(1, LaunchPhase::kWaiting, false), LaunchOf(2, LaunchPhase::kAlive, false)});
  EXPECT_THAT(Asked(Look(9)), ElementsAre("2"));
  EXPECT_THAT(Asked(Look(9)), IsEmpty());
}

TEST_F(SizeTest, AWorkerTrainsAsManyAsItHasSlots) {
  PoolRecord pool = PoolOf(1, "a100", 9);
  pool.slots = 4;
  Start(pool);
  EXPECT_THAT(Asked(Look(4)), ElementsAre("1"));
  EXPECT_THAT(Asked(Look(5)), ElementsAre("1")) << "a second";
  EXPECT_THAT(Asked(Look(8)), IsEmpty());
}

TEST_F(SizeTest, ItsLeastStayThoughNothingWaits) {
  PoolRecord pool = PoolOf(1, "a100", 4);
  pool.wish.least = 2;
  Start(pool);
  const Decisions decisions = Look(0);
  EXPECT_THAT(Asked(decisions), ElementsAre("2 stay"));
  for (const LaunchRecord& launch : decisions.launches) EXPECT_TRUE(launch.stays);
  EXPECT_THAT(Asked(Look(2)), IsEmpty()) << "those come";
  EXPECT_THAT(Asked(Look(9)), ElementsAre("2")) << "others, as far as there is room";
}

TEST_F(SizeTest, ThoseThatStayAndTheOthersAreSubmittedApart) {
  PoolRecord pool = PoolOf(1, "a100", 8);
  pool.wish.least = 1;
  Start(pool);
  const Decisions decisions = Look(4);
  EXPECT_THAT(Asked(decisions), ElementsAre("1 stay", "3"));
  EXPECT_NE(decisions.submits[0].nonce, decisions.submits[1].nonce);
}

TEST_F(SizeTest, AWorkerThatIsBusyDoesNotCountForThoseThatWait) {
  Start(PoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kAlive, true)});
  EXPECT_THAT(Asked(Look(2)), ElementsAre("2"));
}

TEST_F(SizeTest, APoolThatNobodyHasSeenLaunchesOne) {
  Start(PoolOf(1, "", 8));
  EXPECT_THAT(Asked(Look(0)), ElementsAre("1")) << "unasked";
  EXPECT_THAT(Asked(Look(50)), IsEmpty());
}

TEST_F(SizeTest, APoolThatNobodyHasSeenLaunchesOneOfItsLeast) {
  PoolRecord pool = PoolOf(1, "", 8);
  pool.wish.least = 1;
  Start(pool);
  EXPECT_THAT(Asked(Look(50)), ElementsAre("1 stay"));
}

TEST_F(SizeTest, TheFirstWorkerShowsWhatTheyHave) {
  Start(PoolOf(1, "", 8));
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
  PoolRecord pool = PoolOf(1, "", 8);
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
  Start(PoolOf(1, "a100", 8),
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
    EXPECT_EQ(kept_[number].ended, kNow);
  }
  EXPECT_EQ(fleet_.Find("p1")->live.size(), 1u);
  EXPECT_EQ(fleet_.Find("p1")->crashes, 0u);
}

TEST_F(SizeTest, OneLookAtWhichTheyAreWaitedForStartsAnew) {
  Start(PoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(1)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
}

TEST_F(SizeTest, WhatStaysOrRunsIsNotTakenBack) {
  PoolRecord pool = PoolOf(1, "a100", 8);
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
  Start(PoolOf(1, "a100", 8),
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
  Start(PoolOf(1, "a100", 8));
  View view = ViewOf(3);
  view.jobs.reset();
  view.unasked = true;
  EXPECT_THAT(fleet_.Look(view).submits, IsEmpty());
  EXPECT_THAT(Asked(Look(3)), ElementsAre("3"));
}

TEST_F(SizeTest, NothingIsTakenBackOfAClusterThatIsNotHeard) {
  Start(PoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  View view = ViewOf(0);
  view.jobs.reset();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(Cancelled(fleet_.Look(view)), IsEmpty());
  EXPECT_EQ(fleet_.Find("p1")->live.size(), 1u);
}

// A command that was lost must not leave a job behind that nobody knows.
TEST_F(SizeTest, WhatWasTakenBackIsCancelledAgainWhileTheClusterShowsIt) {
  Start(PoolOf(1, "a100", 8), {LaunchOf(1, LaunchPhase::kWaiting, false)});
  (void)Look(0);
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
  EXPECT_THAT(Cancelled(Look(0)), ElementsAre("1"));
  jobs_.clear();
  EXPECT_THAT(Cancelled(Look(0)), IsEmpty());
}

TEST_F(SizeTest, OfAPausedPoolWhatWaitsIsTakenBackAndNothingIsLaunched) {
  PoolRecord pool = PoolOf(1, "a100", 8);
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
  return Explain(fleet.pools().begin()->second, kNow);
}

TEST(WhereAPoolStands, IsASentence) {
  PoolRecord pool = PoolOf(1, "a100", 8);
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
  Fleet fleet({}, {PoolOf(1, "a100", 8)}, {}, {}, 9, 99);
  for (int i = 0; i < 3; ++i) {
    (void)fleet.Submitted({1, "n", 1, false}, InvalidInput("bad account"), kNow);
  }
  EXPECT_EQ(Explain(*fleet.Find("p1"), kNow + absl::Milliseconds(61500)),
            "the cluster has refused its jobs 3 times in a row: bad account; next try in 3m58s");
}

// ---- Anything that may happen, in any order.

class Draws {
 public:
  explicit Draws(uint64_t seed) : stream_(seed, 0) {}
  uint32_t Below(uint32_t bound) { return stream_.Word(next_++) % bound; }
  bool Percent(uint32_t percent) { return Below(100) < percent; }

 private:
  PhiloxStream stream_;
  uint64_t next_ = 0;
};

struct ModelJob {
  Job job;
  uint64_t pool = 0;
  std::string worker;
  bool connected = false;
};

bool HasEnded(const Job& job) {
  return job.phase != JobPhase::kWaiting && job.phase != JobPhase::kAlive;
}

// A coordinator that may end between any two steps, and a cluster whose answers may be lost.
class Walk {
 public:
  explicit Walk(uint64_t seed) : draws_(seed) {}

  void Step() {
    now_ += absl::Seconds(draws_.Below(40));
    if (draws_.Percent(5)) People();
    for (ModelJob& job : cluster_) Live(job);
    std::erase_if(cluster_, [&](const ModelJob& job) {  // Forgotten, or lost by the cluster.
      return HasEnded(job.job) ? draws_.Percent(10) : !job.connected && draws_.Percent(1);
    });
    Fleet next = fleet_;
    const Decisions decisions = next.Look(DrawView());
    Check(decisions);
    if (draws_.Percent(5)) return;  // Not kept: nothing of it is so.
    fleet_ = std::move(next);
    Keep(decisions);
    if (draws_.Percent(3)) {
      for (const Cancel& cancel : decisions.cancels) undone_.insert(cancel.job);
      return Restart();
    }
    for (const Cancel& cancel : decisions.cancels) Do(cancel);
    for (const Submit& submit : decisions.submits) Do(submit);
    if (draws_.Percent(3)) Restart();
    CheckAll();
  }

  // All pools are removed, and the cluster answers.
  void End() {
    for (const char* name : {"a", "b", "c"}) {
      const auto removed = fleet_.Remove(name, "");
      if (removed.ok()) Keep(*removed);
    }
    for (int look = 0; look < 5; ++look) {
      View view;
      view.now = now_ += absl::Seconds(15);
      view.jobs.emplace();
      for (const ModelJob& job : cluster_) view.jobs->push_back(job.job);
      const Decisions decisions = fleet_.Look(view);
      Check(decisions);
      Keep(decisions);
      for (const Cancel& cancel : decisions.cancels) Do(cancel);
    }
    EXPECT_TRUE(fleet_.empty());
    for (const ModelJob& job : cluster_) EXPECT_TRUE(HasEnded(job.job)) << job.job.name;
  }

  size_t launched() const { return launches_.size(); }

 private:
  void People() {
    const std::string name(1, static_cast<char>('a' + draws_.Below(3)));
    PoolWish wish;
    wish.name = name;
    wish.program = "/opt/noisefloor-worker";
    wish.logs = "/logs";
    wish.hardware = name == "c" ? "a100" : "";
    wish.most = 1 + draws_.Below(6);
    wish.least = draws_.Below(std::min(wish.most, 3u));
    wish.backlog = 1 + draws_.Below(4);
    const uint32_t what = draws_.Below(10);
    const auto decided = what < 5   ? fleet_.Add(wish, "t" + std::to_string(++tags_), "", now_)
                         : what < 6 ? fleet_.Pause(name, "")
                         : what < 9 ? fleet_.Resume(name, "")
                                    : fleet_.Remove(name, "");
    if (decided.ok()) Keep(*decided);
  }
  void Live(ModelJob& model) {
    Job& job = model.job;
    if (HasEnded(job)) return;
    if (job.phase == JobPhase::kWaiting) {
      if (!draws_.Percent(20)) return;
      job.phase = JobPhase::kAlive;
      job.begins = now_;
    } else if (draws_.Percent(10)) {
      const JobPhase ends[] = {JobPhase::kWell, JobPhase::kTaken, JobPhase::kBroken};
      job.phase = ends[draws_.Below(3)];
      job.ends = now_;
      model.connected = false;
    } else if (draws_.Percent(40)) {
      model.connected = !draws_.Percent(10);
    }
  }
  View DrawView() {
    View view;
    view.now = now_;
    view.nonce = "n" + std::to_string(++looks_);
    view.waiting = {{"", "", draws_.Below(4)}, {"a100", "cuda", draws_.Below(8)}};
    for (const ModelJob& job : cluster_) {
      if (job.connected) view.workers[job.worker] = {{"a100"}, {"cuda"}, 1 + draws_.Below(2)};
    }
    view.unasked = draws_.Percent(30);
    if (view.unasked || draws_.Percent(20)) return view;
    view.jobs.emplace();
    for (const ModelJob& job : cluster_) view.jobs->push_back(job.job);
    return view;
  }
  void Keep(const Decisions& decisions) {
    for (const PoolRecord& pool : decisions.pools) pools_[pool.number] = pool;
    for (const LaunchRecord& launch : decisions.launches) launches_[launch.number] = launch;
    for (const uint64_t pool : decisions.gone) {
      pools_.erase(pool);
      gone_.insert(pool);
    }
  }
  Fleet Rebuilt() const {
    std::vector<PoolRecord> pools;
    std::vector<LaunchRecord> launches;
    for (const auto& [number, pool] : pools_) pools.push_back(pool);
    for (const auto& [number, launch] : launches_) launches.push_back(launch);
    const uint64_t last_pool =
        std::max(pools_.empty() ? 0 : pools_.rbegin()->first, gone_.empty() ? 0 : *gone_.rbegin());
    return Fleet({}, pools, launches, {}, last_pool,
                 launches_.empty() ? 0 : launches_.rbegin()->first);
  }
  void Restart() { fleet_ = Rebuilt(); }
  void Do(const Cancel& cancel) {
    for (ModelJob& job : cluster_) {
      const bool meant = cancel.job.empty() || cancel.job == job.job.key;
      if (job.job.name != cancel.name || !meant || HasEnded(job.job)) continue;
      job.job.phase = JobPhase::kTaken;
      job.job.ends = now_;
      job.connected = false;
    }
  }
  void Do(const Submit& submit) {
    const uint32_t what = draws_.Below(10);
    absl::StatusOr<std::string> answer = InvalidInput("refused");
    if (what < 8) answer = std::to_string(++keys_);
    if (what < 8) Take(submit, *answer);
    if (what == 7 || what == 8) answer = absl::UnavailableError("lost");
    Keep(fleet_.Submitted(submit, answer, now_));
  }
  void Take(const Submit& submit, const std::string& key) {
    const PoolRecord& pool = pools_.at(submit.pool);
    for (uint32_t i = 0; i < submit.count; ++i) {
      ModelJob model;
      model.pool = submit.pool;
      model.job.key = submit.count > 1 ? key + "_" + std::to_string(i) : key;
      model.job.name = JobPrefix(pool) + submit.nonce;
      model.job.index = i;
      model.job.phase = JobPhase::kWaiting;
      model.worker = pool.wish.name + "-" + submit.nonce + "-" + std::to_string(i);
      if (draws_.Percent(5)) model.worker += "-r1";
      cluster_.push_back(model);
    }
  }

  // What is decided, before it is kept.
  void Check(const Decisions& decisions) {
    std::set<uint64_t> ended;
    for (const LaunchRecord& launch : decisions.launches) {
      EXPECT_FALSE(ended.contains(launch.number)) << "nothing comes after its end";
      if (launch.phase == LaunchPhase::kEnded) ended.insert(launch.number);
      const auto kept = launches_.find(launch.number);
      if (kept == launches_.end()) {
        EXPECT_GT(launch.number, launches_.empty() ? 0 : launches_.rbegin()->first);
        EXPECT_EQ(launch.phase, LaunchPhase::kIntended);
      } else {
        EXPECT_EQ(launch.pool, kept->second.pool);
        EXPECT_EQ(launch.nonce, kept->second.nonce);
        EXPECT_NE(kept->second.phase, LaunchPhase::kEnded);
      }
      EXPECT_EQ(launch.phase == LaunchPhase::kEnded, launch.end != LaunchEnd::kNone);
    }
    for (const Submit& submit : decisions.submits) CheckSubmit(submit, decisions);
    for (const Cancel& cancel : decisions.cancels) CheckCancel(cancel);
  }
  void CheckSubmit(const Submit& submit, const Decisions& decisions) {
    EXPECT_EQ(pools_.at(submit.pool).state, PoolState::kActive);
    std::vector<uint32_t> indices;
    std::vector<uint32_t> all;
    for (const LaunchRecord& launch : decisions.launches) {
      if (launch.pool != submit.pool || launch.nonce != submit.nonce) continue;
      EXPECT_EQ(launch.phase, LaunchPhase::kIntended);
      EXPECT_EQ(launch.stays, submit.stays);
      all.push_back(static_cast<uint32_t>(all.size()));
      indices.push_back(launch.index);
    }
    EXPECT_EQ(indices, all);
    EXPECT_EQ(indices.size(), submit.count);
  }
  void CheckCancel(const Cancel& cancel) {
    const PoolRecord& pool = pools_.at(cancel.pool);
    EXPECT_TRUE(cancel.name.starts_with(JobPrefix(pool))) << cancel.name;
    for (const ModelJob& job : cluster_) {
      const bool meant = cancel.job.empty() || cancel.job == job.job.key;
      if (job.job.name != cancel.name || !meant) continue;
      EXPECT_EQ(job.pool, cancel.pool);
      const bool may = pool.state == PoolState::kRemoving || undone_.contains(job.job.key);
      EXPECT_TRUE(!job.connected || may) << job.worker;
    }
  }
  void CheckAll() {
    const Fleet rebuilt = Rebuilt();
    ASSERT_EQ(rebuilt.pools().size(), fleet_.pools().size());
    for (const auto& [number, pool] : fleet_.pools()) {
      EXPECT_LE(pool.live.size(), pool.record.wish.most);
      EXPECT_EQ(pool.record, pools_.at(number));
      const Pool& again = rebuilt.pools().at(number);
      EXPECT_EQ(again.record, pool.record);
      ASSERT_EQ(again.live.size(), pool.live.size());
      for (const auto& [launch, known] : pool.live) {
        EXPECT_EQ(again.live.at(launch).record, known.record);
      }
      const auto real = std::ranges::count_if(
          cluster_, [&](const ModelJob& job) { return job.pool == number && !HasEnded(job.job); });
      EXPECT_LE(static_cast<uint32_t>(real), pool.record.wish.most) << "on the cluster";
    }
    for (const ModelJob& job : cluster_) {
      EXPECT_TRUE(HasEnded(job.job) || pools_.contains(job.pool)) << "its pool is gone";
    }
  }

  Draws draws_;
  Fleet fleet_;
  absl::Time now_ = kNow;
  std::vector<ModelJob> cluster_;
  std::map<uint64_t, PoolRecord> pools_;  // As kept; likewise the next.
  std::map<uint64_t, LaunchRecord> launches_;
  std::set<uint64_t> gone_;
  std::set<std::string> undone_;  // Jobs that a coordinator which ended would have cancelled.
  uint64_t looks_ = 0;
  uint64_t keys_ = 0;
  uint64_t tags_ = 0;
};

TEST(AnyFleet, KeepsItsBoundsIsTheSameAfterARestartAndLeavesNothingBehind) {
  size_t launched = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Walk walk(seed);
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step) walk.Step();
    if (!testing::Test::HasFailure()) walk.End();
    launched += walk.launched();
  }
  EXPECT_GT(launched, 1000u) << "the walk went nowhere";
}

}  // namespace
}  // namespace noisefloor::fleet
