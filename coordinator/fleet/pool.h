// Pools of workers that come and go on a cluster, and what is kept of them. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "coordinator/fleet/job.h"

namespace noisefloor::fleet {

// What people say of a pool: jobs of one kind, one worker in each.
struct PoolWish {
  std::string name;                  // Lower-case letters, digits and '-'; at most 40.
  std::string hardware;              // Class that its workers have; empty: what they have.
  std::vector<std::string> cluster;  // Arguments of sbatch: "--gres=gpu:a100:1".
  std::vector<std::string> worker;   // Options of noisefloor-worker.
  std::string prologue;              // Lines of shell before it.
  std::string program;               // Path of noisefloor-worker on the nodes.
  // Path on the nodes of a worker's access file; empty: the address of the coordinator will do.
  std::string access;
  std::string logs;                                // Folder of the jobs' output.
  uint32_t least = 0;                              // Workers that stay though nothing waits.
  uint32_t most = 1;                               // Jobs at one time.
  uint32_t backlog = 4;                            // Of them, how many may wait for the cluster.
  absl::Duration idle = absl::Minutes(5);          // Without a member, a worker leaves.
  absl::Duration time_limit;                       // Of a job; zero: the cluster's own.
  absl::Duration drain_before = absl::Minutes(2);  // Before its limit it begins nothing new.
  double gpu_hours = 0;                            // Of all its jobs together; 0: no bound.
  friend bool operator==(const PoolWish&, const PoolWish&) = default;
};

// InvalidArgument says what is wrong with it, as far as that can be seen without the cluster.
absl::Status Check(const PoolWish& wish);

// GPUs that each job asks for, as far as its arguments say; 1 when they do not.
uint32_t GpusOf(const PoolWish& wish);

enum class PoolState : uint8_t {
  kActive = 1,
  kPaused = 2,    // Nothing new begins; what runs goes on.
  kRemoving = 3,  // Its jobs are ended; then it goes.
};

struct PoolRecord {
  uint64_t number = 0;  // Rises for ever.
  PoolWish wish;
  std::string tag;  // Drawn once: names of its jobs are nobody else's.
  PoolState state = PoolState::kActive;
  std::string why;        // It is paused.
  uint64_t forgiven = 0;  // Launches up to this one no longer count as failed.
  std::string created_by;
  absl::Time created;
  // What its last worker had; empty: none has come yet.
  std::vector<std::string> classes;
  std::vector<std::string> stacks;
  uint32_t slots = 1;  // Members side by side on a worker.
  friend bool operator==(const PoolRecord&, const PoolRecord&) = default;
};

enum class LaunchPhase : uint8_t {
  kIntended = 1,  // Kept before the cluster is asked: it may know of it or not.
  kWaiting = 2,
  kAlive = 3,
  kEnded = 4,
};
enum class LaunchEnd : uint8_t {
  kNone = 0,
  kWell = 1,
  kTaken = 2,    // By others.
  kBroken = 3,   // The worker failed.
  kRefused = 4,  // The cluster does not take it, or never would have begun it.
  kGone = 5,     // The cluster knows nothing of it.
  kSurplus = 6,  // We took it back: nothing waits for it any more.
};

// One job, of an array or alone, and the worker in it.
struct LaunchRecord {
  uint64_t number = 0;  // Rises for ever.
  uint64_t pool = 0;
  std::string nonce;   // Of those that were submitted together.
  uint32_t index = 0;  // Among them.
  bool stays = false;  // Its worker does not leave for want of members.
  std::string job;     // The cluster's key; empty: not known (yet).
  LaunchPhase phase = LaunchPhase::kIntended;
  LaunchEnd end = LaunchEnd::kNone;
  std::string reason;  // In words: why it waits, or how it ended.
  std::string node;
  bool heard = false;  // Its worker was here.
  absl::Time created;
  absl::Time began = absl::InfiniteFuture();
  absl::Time ended = absl::InfiniteFuture();
  friend bool operator==(const LaunchRecord&, const LaunchRecord&) = default;
};

// For the log of events: "pool a100: its last 3 workers failed, ...".
struct Happening {
  std::string kind;
  std::string text;
  friend bool operator==(const Happening&, const Happening&) = default;
};

// "nf-a100-1f2e3d4c-": what all names of jobs of the pool begin with.
std::string JobPrefix(const PoolRecord& pool);
std::string JobName(const PoolRecord& pool, const LaunchRecord& launch);
// "a100-9f8e-0"; behind it "-r1" when the cluster has started the job again.
std::string WorkerName(const PoolRecord& pool, const LaunchRecord& launch);

}  // namespace noisefloor::fleet
