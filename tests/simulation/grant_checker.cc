#include "tests/simulation/grant_checker.h"

#include <algorithm>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

namespace {

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
    if (const auto* grant = std::get_if<GrantLease>(&write)) {
      CheckGrant(*grant, kept, now);
      Take(*grant);
    }
    if (const auto* drop = std::get_if<DropLease>(&write)) Free(*drop);
    if (const auto* event = std::get_if<AppendEvent>(&write)) Note(*event);
  }
}

void GrantChecker::CheckGrant(const GrantLease& grant, const RecoveredState& kept, absl::Time now) {
  const bool there = std::ranges::count(kept.sweeps, grant.member.sweep, &RecoveredSweep::id) > 0;
  if (!there) return;  // Ended and deleted in the same transaction.
  const RecoveredCell& cell = SweepOf(kept, grant.member.sweep).cells.at(grant.member.cell);
  const WorkerTraits& worker = traits_.at(WorkerOf(kept, grant.worker).identity);
  CheckBudget(grant, kept);
  const Inventory& has = *worker.inventory;
  if (grant.slot >= has.slots.size()) {
    problems_.insert("a worker was given a member for a slot that it has not");
    return;
  }
  const Inventory::Slot& slot = has.slots[grant.slot];
  const auto offers = [&](const std::string& hardware, const std::string& fingerprint) {
    return std::ranges::any_of(slot.offers, [&](uint32_t place) {
      const Inventory::Offer& offer = has.offers[place];
      return offer.hardware_class == hardware &&
             (fingerprint.empty() || offer.fingerprint == fingerprint);
    });
  };
  if (!offers(cell.cell.hardware, "")) {
    problems_.insert("a slot was given a member of a class that it has not");
  } else if (!offers(cell.cell.hardware, cell.fingerprint)) {
    problems_.insert("a slot was given a member of a stack that it has not");
  }
  if (grant.unit != UnitOf(has, slot)) problems_.insert("a lease names another unit than its slot");
  const std::string name = has.devices.size() > 1 ? grant.unit + " of " + worker.name : worker.name;
  const auto quarantined = quarantined_until_.find(name);
  if (quarantined != quarantined_until_.end() && now < quarantined->second) {
    problems_.insert("a device in quarantine was given a member");
  }
}

void GrantChecker::CheckBudget(const GrantLease& grant, const RecoveredState& kept) {
  const RecoveredMember member =
      SweepOf(kept, grant.member.sweep).cells.at(grant.member.cell).At(grant.member.replicate);
  uint32_t own = 0;
  uint32_t lost = 0;
  for (const Past& past : past_[grant.member]) {
    if (past.attempt > member.forgiven) ++(IsItsOwnFault(past.cause) ? own : lost);
  }
  if (own >= options_.most_attempts) {
    problems_.insert("a member got more attempts than faults of its own allow");
  }
  if (lost >= options_.most_lost) {
    problems_.insert("a member got more attempts than lost workers allow");
  }
}

void GrantChecker::Take(const GrantLease& grant) {
  live_.insert_or_assign(grant.lease, grant);
  if (!taken_.emplace(std::pair(grant.worker, grant.slot), grant.lease).second) {
    problems_.insert("a slot has two live leases");
  }
}

void GrantChecker::Free(const DropLease& drop) {
  const auto lease = live_.extract(drop.lease);
  if (lease.empty()) return;  // Granted twice or never: the store says so.
  const GrantLease& grant = lease.mapped();
  const auto taken = taken_.find({grant.worker, grant.slot});
  if (taken != taken_.end() && taken->second == drop.lease) taken_.erase(taken);
  if (drop.cause != CauseClass::kNone) past_[grant.member].push_back({grant.attempt, drop.cause});
}

void GrantChecker::Note(const AppendEvent& event) {
  if (event.kind == "released_by_person") {
    NoteReleased(event.text.substr(0, event.text.find(" gets leases again")));
  }
  if (event.kind != "worker_quarantined") return;
  const size_t end = event.text.find(" gets no leases");
  quarantined_until_[event.text.substr(0, end)] = event.at + options_.quarantine;
}

// A worker is released with all its devices; a worker's only device goes by the worker's name.
void GrantChecker::NoteReleased(const std::string& released) {
  std::erase_if(quarantined_until_, [&](const auto& one) {
    return one.first == released || one.first.ends_with(" of " + released) ||
           released.ends_with(" of " + one.first);
  });
}

}  // namespace noisefloor::test
