// What the running coordinator knows now, for those who read: kept up to date by the loop, entry by
// entry, as of the last commit. A read costs what it returns.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "coordinator/scheduler/scheduler.h"

namespace noisefloor {

// What an owner of sweeps gets of the fleet.
struct OwnerShare {
  uint32_t weight = 1;
  uint64_t waiting = 0;  // Members.
  uint64_t running = 0;
  friend bool operator==(const OwnerShare&, const OwnerShare&) = default;
};

// What one commit made different.
struct BoardChanges {
  std::vector<std::pair<SweepId, scheduler::SweepCounts>> sweeps;
  std::vector<SweepId> deleted;
  std::vector<scheduler::WorkerStatus> workers;
  std::vector<WorkerId> gone;      // Workers that are forgotten.
  std::vector<LeaseId> forgotten;  // Leases that are not live any more.
  std::vector<scheduler::RunningAttempt> running;
  std::vector<std::pair<std::string, uint32_t>> weights;  // By owner.
  // Of connected workers, sorted; nothing: as they were.
  std::optional<std::vector<std::string>> classes;
  std::optional<std::vector<std::string>> stacks;
};

// Thread-safe. One writes, many read; what a reader was given is its own, or immutable.
class LiveBoard {
 public:
  // shared: with readers that were given it, while the loop may post a newer one.
  using Worker = std::shared_ptr<const scheduler::WorkerStatus>;

  void Apply(BoardChanges changes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Why nothing can be kept now; empty: all is well.
  void SetStorageProblem(std::string problem) ABSL_LOCKS_EXCLUDED(mutex_);

  // Nothing: there is no such sweep.
  std::optional<scheduler::SweepCounts> CountsOf(SweepId sweep) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Sweeps of which it has yet to be decided how many replicates they take: looks at all sweeps.
  std::vector<SweepId> Undecided() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsLive(LeaseId lease) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The member's live attempt; nothing: it has none.
  std::optional<scheduler::RunningAttempt> AttemptAt(const MemberId& member) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a live lease; nothing: it is none, or none of a member that runs.
  std::optional<scheduler::RunningAttempt> AttemptOf(LeaseId lease) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Worker> Workers() const ABSL_LOCKS_EXCLUDED(mutex_);  // By number.
  std::vector<std::string> classes() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> stacks() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Of owners of whom something waits or runs, or whose weight is not 1; by name.
  std::map<std::string, OwnerShare> Shares() const ABSL_LOCKS_EXCLUDED(mutex_);
  OwnerShare ShareOf(const std::string& owner) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::string storage_problem() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The counts of a sweep come into its owner's share, or go out of it.
  void Count(const scheduler::SweepCounts& counts, bool come) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropIfEven(const std::string& owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<SweepId, scheduler::SweepCounts> sweeps_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, OwnerShare> shares_ ABSL_GUARDED_BY(mutex_);  // As Shares tells them.
  std::map<WorkerId, Worker> workers_ ABSL_GUARDED_BY(mutex_);
  std::map<LeaseId, MemberId> leases_ ABSL_GUARDED_BY(mutex_);  // Live ones.
  std::map<MemberId, scheduler::RunningAttempt> running_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> classes_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> stacks_ ABSL_GUARDED_BY(mutex_);
  std::string storage_problem_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor
