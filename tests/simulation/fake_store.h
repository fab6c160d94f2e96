// What the store would keep, in memory, and strict: a write that the real store's keys would
// refuse, or that contradicts what it holds, is told. Not thread-safe.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/trainer_protocol/specification_template.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"

namespace noisefloor::test {

class FakeStore {
 public:
  // As step number `step`. False: it was kept already, and nothing was written.
  bool Apply(uint64_t step, const std::vector<scheduler::Write>& writes);
  // As the next one, if there is anything to write.
  void Apply(const std::vector<scheduler::Write>& writes);
  uint64_t last_step() const { return last_step_; }

  // What a restarted coordinator would read. Valid until the next Apply.
  const scheduler::RecoveredState& Recovered() const { return state_; }

  // Contradictions so far: two live leases of one member, a second result of one member, a result
  // of an unknown attempt, a lease number used twice, ...
  const std::vector<std::string>& violations() const { return violations_; }

  // Highest record batch of a lease; 0: none.
  uint64_t StoredBatches(LeaseId lease) const;
  bool HasAccepted(LeaseId lease) const { return accepted_.contains(lease); }
  bool HasSweep(SweepId sweep) const;
  // Whether a member of that cell waits and was never attempted.
  bool HasFresh(SweepId sweep, const scheduler::RecoveredCell& cell) const;
  bool WasDeleted(SweepId sweep) const { return deleted_.contains(sweep); }
  size_t accepted_count() const { return accepted_.size(); }

 private:
  void On(const scheduler::KeepSweep& write);
  void On(const scheduler::KeepSharing& write);
  void On(const scheduler::KeepShare& write);
  void On(const scheduler::KeepExtension& write);
  void On(const scheduler::DeleteSweep& write);
  void On(const scheduler::KeepNotes& write);
  void On(const scheduler::KeepWorkerUse& write);
  void On(const scheduler::PinCell& write);
  void On(const scheduler::KeepSpecification& write);
  void On(const scheduler::PinIdentity& write);
  void On(const scheduler::KeepSchema&) {}
  void On(const scheduler::KeepSoftware& write);
  void On(const scheduler::KeepWorker& write);
  void On(const scheduler::KeepSeen& write);
  void On(const scheduler::ForgetWorker& write);
  void On(const scheduler::GrantLease& write);
  void On(const scheduler::DropLease& write);
  void On(const scheduler::KeepRecords& write);
  void On(const scheduler::KeepOutcome& write);
  void On(const scheduler::SetMemberState& write);
  void On(const scheduler::SetUntouched& write);
  void On(const scheduler::AppendEvent& write);
  void On(const scheduler::KeepToken& write);
  void On(const scheduler::RevokeToken& write);
  void On(const scheduler::KeepPool& write);
  void On(const scheduler::KeepLaunch& write);
  void On(const scheduler::DropPool& write);
  void On(const scheduler::CollectArtifacts& write);

  void Violate(const std::string& what) { violations_.push_back(what); }
  scheduler::RecoveredSweep& SweepOf(SweepId id);
  scheduler::RecoveredCell* FindCell(const MemberId& id);  // Null for a member that there is not.
  void CheckMember(const MemberId& id);
  void CheckUntouched(SweepId sweep, uint32_t cell);

  struct Granted {
    MemberId member;
    uint32_t attempt = 0;
    WorkerId worker;
    std::string unit;
    bool live = true;
    bool has_outcome = false;
  };

  uint64_t last_step_ = 0;
  scheduler::RecoveredState state_;
  std::vector<std::string> violations_;
  std::map<LeaseId, Granted> granted_;
  std::map<MemberId, std::set<LeaseId>> live_;
  std::map<LeaseId, uint64_t> batches_;
  std::map<std::pair<SweepId, uint32_t>, SpecificationTemplate> specifications_;  // The last.
  std::map<LeaseId, MemberId> accepted_;
  std::map<MemberId, LeaseId> results_;
  // Rows of members that wait and were never attempted.
  std::map<std::pair<SweepId, uint32_t>, size_t> fresh_rows_;
  std::set<MemberId> touched_;
  std::set<SweepId> deleted_;
};

inline const scheduler::RecoveredSweep& SweepOf(const scheduler::RecoveredState& kept, SweepId id) {
  return *std::ranges::find(kept.sweeps, id, &scheduler::RecoveredSweep::id);
}

// The first difference between two states, in words; empty: they are equal.
std::string Difference(const scheduler::RecoveredState& a, const scheduler::RecoveredState& b);

}  // namespace noisefloor::test
