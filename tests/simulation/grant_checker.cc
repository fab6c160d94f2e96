#include "tests/simulation/grant_checker.h"

#include <algorithm>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

namespace {

const RecoveredSweep& SweepOf(const RecoveredState& kept, SweepId id) {
  return *std::ranges::find(kept.sweeps, id, &RecoveredSweep::id);
}

const RecoveredWorker& WorkerOf(const RecoveredState& kept, WorkerId id) {
  return *std::ranges::find(kept.workers, id, &RecoveredWorker::worker);
}

bool IsItsOwnFault(CauseClass cause) {
  return cause == CauseClass::kBadSpecification || cause == CauseClass::kBadData ||
         cause == CauseClass::kOutOfMemory || cause == CauseClass::kBug;
}

}  // namespace

void GrantChecker::Check(const std::vector<Write>& writes, const RecoveredState& kept,
                         absl::Time now) {
  for (const Write& write : writes) {
    if (const auto* grant = std::get_if<GrantLease>(&write)) CheckGrant(*grant, kept, now);
    if (const auto* event = std::get_if<AppendEvent>(&write)) Note(*event, now);
  }
  CheckSlots(kept);
}

void GrantChecker::CheckGrant(const GrantLease& grant, const RecoveredState& kept, absl::Time now) {
  const RecoveredCell& cell = SweepOf(kept, grant.member.sweep).cells.at(grant.member.cell);
  const WorkerTraits& worker = traits_.at(WorkerOf(kept, grant.worker).identity);
  const bool offered =
      std::ranges::find(worker.classes, cell.cell.hardware) != worker.classes.end();
  if (!offered) problems_.insert("a worker was given a member of a class that it has not");
  if (worker.fingerprint != cell.fingerprint) {
    problems_.insert("a worker was given a member of a stack that it has not");
  }
  const auto quarantined = quarantined_until_.find(worker.name);
  if (quarantined != quarantined_until_.end() && now < quarantined->second) {
    problems_.insert("a worker in quarantine was given a member");
  }
  CheckBudget(grant, kept);
}

void GrantChecker::CheckBudget(const GrantLease& grant, const RecoveredState& kept) {
  const RecoveredMember member =
      SweepOf(kept, grant.member.sweep).cells.at(grant.member.cell).At(grant.member.replicate);
  uint32_t own = 0;
  uint32_t lost = 0;
  for (const PastLease& past : kept.past_leases) {
    const bool counts =
        past.member == grant.member && past.lease < grant.lease && past.attempt > member.forgiven;
    if (counts) ++(IsItsOwnFault(past.cause) ? own : lost);
  }
  if (own >= options_.most_attempts) {
    problems_.insert("a member got more attempts than faults of its own allow");
  }
  if (lost >= options_.most_lost) {
    problems_.insert("a member got more attempts than lost workers allow");
  }
}

void GrantChecker::CheckSlots(const RecoveredState& kept) {
  std::map<WorkerId, uint32_t> leases;
  for (const RecoveredLease& lease : kept.leases) ++leases[lease.worker];
  for (const auto& [worker, count] : leases) {
    if (count > traits_.at(WorkerOf(kept, worker).identity).slots) {
      problems_.insert("a worker has more leases than slots");
    }
  }
}

void GrantChecker::Note(const AppendEvent& event, absl::Time now) {
  if (event.kind != "worker_quarantined") return;
  quarantined_until_[event.text.substr(0, event.text.find(' '))] = now + options_.quarantine;
}

}  // namespace noisefloor::test
