// What becomes of jobs that are submitted, of workers that fail, and of pools that go.
#include "coordinator/fleet/fleet.h"

#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace noisefloor::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(1700000000);
constexpr absl::Duration kPoll = absl::Seconds(15);

PoolWish WishOf(const std::string& name) {
  PoolWish wish;
  wish.name = name;
  wish.program = "/opt/noisefloor-worker";
  wish.logs = "/logs";
  wish.most = 8;
  wish.backlog = 8;
  return wish;
}

PoolRecord KnownPool() {
  PoolRecord pool;
  pool.number = 1;
  pool.wish = WishOf("a100");
  pool.tag = "1f2e";
  pool.classes = {"a100"};
  pool.stacks = {"cuda"};
  return pool;
}

// A fleet, what is kept of it, what its cluster shows and who is connected.
class FleetTest : public testing::Test {
 protected:
  void Start(const PoolRecord& pool = KnownPool()) {
    fleet_ = Fleet({}, {pool}, {}, {}, pool.number, 0);
    pools_[pool.number] = pool;
  }
  Decisions Keep(Decisions decisions) {
    for (const PoolRecord& pool : decisions.pools) pools_[pool.number] = pool;
    for (const LaunchRecord& launch : decisions.launches) launches_[launch.number] = launch;
    for (const Happening& one : decisions.happenings) happened_.push_back(one.kind);
    return decisions;
  }
  Decisions Look(bool heard = true, bool unasked = false) {
    now_ += kPoll;
    View view;
    view.now = now_;
    view.waiting = {{"a100", "", members_}};
    view.workers = workers_;
    if (heard && !unasked) view.jobs = jobs_;
    view.unasked = unasked;
    view.nonce = "n" + std::to_string(++looks_);
    return Keep(fleet_.Look(view));
  }
  Decisions LookUnheard() { return Look(/*heard=*/false); }
  Decisions Answer(const Submit& submit, const absl::StatusOr<std::string>& job) {
    return Keep(fleet_.Submitted(submit, job, now_));
  }
  // As the cluster shows it from now on; one that it shows already is changed.
  void Show(const std::string& key, const std::string& nonce, JobPhase phase, uint32_t index = 0) {
    std::erase_if(jobs_, [&](const Job& job) { return job.key == key; });
    Job job;
    job.key = key;
    job.name = "nf-a100-1f2e-" + nonce;
    job.index = index;
    job.phase = phase;
    job.state = phase == JobPhase::kBroken ? "FAILED" : "STATE";
    if (phase != JobPhase::kWaiting) job.begins = now_;
    jobs_.push_back(job);
  }
  void Connect(const std::string& name) { workers_[name] = {{"a100"}, {"cuda"}, 1}; }
  // Launches one, which is submitted and shown as `key`; its nonce.
  std::string LaunchOne(const std::string& key) {
    members_ = 1;
    const Decisions decisions = Look();
    members_ = 0;
    EXPECT_EQ(decisions.submits.size(), 1u);
    if (decisions.submits.empty()) return "";
    (void)Answer(decisions.submits[0], key);
    Show(key, decisions.submits[0].nonce, JobPhase::kWaiting);
    return decisions.submits[0].nonce;
  }
  // One that runs, whose worker is heard, and that ends so.
  void LiveOne(const std::string& key, bool heard, JobPhase end) {
    const std::string nonce = LaunchOne(key);
    Show(key, nonce, JobPhase::kAlive);
    if (heard) Connect("a100-" + nonce + "-0");
    (void)Look();
    workers_.clear();
    Show(key, nonce, end);
    (void)Look();
  }
  const Pool& ThePool() const { return fleet_.pools().begin()->second; }
  const LaunchRecord& Last() const { return launches_.rbegin()->second; }
  std::vector<LaunchRecord> Kept() const {
    std::vector<LaunchRecord> all;
    for (const auto& [number, launch] : launches_) all.push_back(launch);
    return all;
  }

  Fleet fleet_;
  absl::Time now_ = kStart;
  uint64_t members_ = 0;
  std::vector<Job> jobs_;
  std::map<std::string, SeenWorker> workers_;
  int looks_ = 0;
  std::map<uint64_t, PoolRecord> pools_;  // As kept; likewise the next.
  std::map<uint64_t, LaunchRecord> launches_;
  std::vector<std::string> happened_;
};

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
