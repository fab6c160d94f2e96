// A fleet of one pool, what is kept of it, what its cluster shows and who is connected.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"

#include "coordinator/fleet/fleet.h"

namespace noisefloor::fleet {

inline const absl::Time kStart = absl::FromUnixSeconds(1700000000);
inline constexpr absl::Duration kPoll = absl::Seconds(15);

inline PoolWish WishOf(const std::string& name) {
  PoolWish wish;
  wish.name = name;
  wish.program = "/opt/noisefloor-worker";
  wish.logs = "/logs";
  wish.most = 8;
  wish.backlog = 8;
  return wish;
}

inline PoolRecord KnownPool() {
  PoolRecord pool;
  pool.number = 1;
  pool.wish = WishOf("a100");
  pool.tag = "1f2e";
  pool.classes = {"a100"};
  pool.stacks = {"cuda"};
  return pool;
}

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

}  // namespace noisefloor::fleet
