// What the store gives back after a restart; Scheduler::Restore takes it. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/scheduler/effect.h"

namespace noisefloor::scheduler {

struct RecoveredMember {
  MemberState state = MemberState::kWaiting;
  uint32_t attempt = 0;
  uint32_t forgiven = 0;  // As in the last SetMemberState.
  LeaseId accepted;       // Of done and diverged: the lease of its result; else 0.
};
struct RecoveredCell {
  sweep::Cell cell;         // Pins filled in.
  std::string fingerprint;  // "" = not pinned.
  std::string build;
  MemberState untouched = MemberState::kWaiting;  // Of the members that are not in `members`.
  std::map<uint32_t, RecoveredMember> members;    // By replicate: what something happened to.

  RecoveredMember At(uint32_t replicate) const;  // In `members` or not.
};
// Seconds of training of accepted results that told a time.
struct TrainTimes {
  double sum = 0;
  uint32_t count = 0;
  double Mean() const { return sum / count; }
  friend bool operator==(const TrainTimes&, const TrainTimes&) = default;
};
struct RecoveredSweep {
  SweepId id;
  sweep::Sweep content;
  std::string specification_sha256;
  std::string request_id;
  std::map<std::string, std::string> identities;  // Pinned, by data set.
  // Cells of which an accepted attempt has an artifact "evaluation_images".
  std::vector<uint32_t> cells_with_evaluation_set;
  std::vector<RecoveredCell> cells;
  // By hardware class. Not to the last bit what was added up before: the order is another.
  std::map<std::string, TrainTimes> times;
  Sharing sharing;
  uint32_t revision = 0;    // As in the last KeepNotes.
  absl::Duration gpu_time;  // As in GpuUse::ended.
};
struct RecoveredLease {
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  WorkerId worker;
  std::string specification;
  uint64_t sequence = 0;         // Highest record batch stored without a gap.
  std::optional<uint32_t> slot;  // Nothing: it was granted before leases named one.
  std::string unit;
  absl::Time granted;
  uint32_t gpus = 0;  // As in GrantLease.
};
struct PastLease {  // Dropped without an accepted result: the budget of its member counts it.
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  WorkerId worker;
  CauseClass cause = CauseClass::kLostWorker;  // Of its DropLease.
  std::string reason;                          // Of its DropLease.
  bool has_outcome = false;                    // A KeepOutcome of it is in the store.
  std::string unit;
};
struct RecoveredWorker {
  WorkerId worker;
  std::string name;
  uint64_t identity = 0;
  bool drained = false;  // As in the last KeepWorkerUse.
  std::set<std::string> quarantined = {};
  absl::Time seen = {};  // As in the last KeepWorker or KeepSeen.
};
struct RecoveredState {
  std::vector<RecoveredSweep> sweeps;
  std::vector<RecoveredLease> leases;         // Live ones only, by lease.
  std::vector<PastLease> past_leases;         // By lease; all that are needed, or more.
  std::vector<RecoveredWorker> workers;       // Those that are not forgotten.
  std::map<WorkerId, std::string> forgotten;  // Names of other workers that past_leases name.
  std::map<std::string, uint32_t> weights;    // Of owners; of others 1.
  // By fingerprint, never null.
  // shared: immutable.
  std::map<std::string, std::shared_ptr<const Versions>> software;
  SweepId last_sweep;
  LeaseId last_lease;
  WorkerId last_worker;
  EventId last_event;
};

}  // namespace noisefloor::scheduler
