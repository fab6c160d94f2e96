// That all bounds of a fleet hold whatever happens, in any order.
#include <algorithm>
#include <set>
#include <utility>

#include "gtest/gtest.h"

#include "common/base/philox.h"
#include "coordinator/fleet/fleet.h"
#include "tests/coordinator/fleet/fleet_fixture.h"

namespace noisefloor::fleet {
namespace {

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
  absl::Time now_ = kStart;
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
