// Whether leases go where they may: written from the README of the scheduler, not from its code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/scheduler/scheduler.h"
#include "tests/simulation/fake_store.h"
#include "tests/simulation/fake_worker.h"

namespace noisefloor::test {

// Not thread-safe.
class GrantChecker {
 public:
  GrantChecker(scheduler::Options options, std::set<std::string>& problems)
      : options_(options), problems_(problems) {}

  // What the worker really has, whatever it tells the coordinator.
  void Know(const WorkerTraits& traits) { traits_[traits.identity] = traits; }
  void Restarted() { quarantined_until_.clear(); }  // A restarted coordinator forgets quarantines.

  // One transaction, and what is kept after it.
  void Check(const std::vector<scheduler::Write>& writes, const scheduler::RecoveredState& kept,
             absl::Time now);

 private:
  void CheckGrant(const scheduler::GrantLease& grant, const scheduler::RecoveredState& kept,
                  absl::Time now);
  void CheckBudget(const scheduler::GrantLease& grant, const scheduler::RecoveredState& kept);
  void Take(const scheduler::GrantLease& grant);
  void Free(const scheduler::DropLease& drop);
  void Note(const scheduler::AppendEvent& event);
  void NoteReleased(const std::string& released);

  struct Past {  // An attempt that came to nothing.
    uint32_t attempt = 0;
    CauseClass cause = CauseClass::kNone;
  };

  const scheduler::Options options_;
  std::set<std::string>& problems_;
  std::map<uint64_t, WorkerTraits> traits_;              // By identity.
  std::map<std::string, absl::Time> quarantined_until_;  // By name of the device.
  std::map<LeaseId, scheduler::GrantLease> live_;
  std::map<std::pair<WorkerId, uint32_t>, LeaseId> taken_;  // By slot.
  std::map<MemberId, std::vector<Past>> past_;
};

}  // namespace noisefloor::test
