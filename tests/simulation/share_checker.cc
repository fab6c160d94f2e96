#include "tests/simulation/share_checker.h"

#include <algorithm>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

namespace {

const RecoveredSweep& SweepOf(const RecoveredState& kept, SweepId id) {
  return *std::ranges::find(kept.sweeps, id, &RecoveredSweep::id);
}

bool AskTheSame(const RecoveredCell& a, const RecoveredCell& b) {
  return a.cell.hardware == b.cell.hardware && a.cell.stack == b.cell.stack &&
         a.fingerprint == b.fingerprint;
}

// Whether a member of the sweep that was never attempted waits for what the cell asks for.
bool Waits(const RecoveredSweep& sweep, const RecoveredCell& cell) {
  return std::ranges::any_of(sweep.cells, [&](const RecoveredCell& own) {
    if (!AskTheSame(own, cell)) return false;
    for (uint32_t replicate = 0; replicate < own.cell.replicates; ++replicate) {
      const RecoveredMember member = own.At(replicate);
      if (member.state == MemberState::kWaiting && member.attempt == 0) return true;
    }
    return false;
  });
}

// Whether what the worker reads is what the sweep was pinned to, as far as it was.
bool HasItsData(const RecoveredSweep& sweep, const WorkerTraits& worker) {
  return std::ranges::all_of(
      sweep.identities, [&](const auto& pinned) { return pinned.second == worker.data_identity; });
}

// Whether as many of its members run on the class as may.
bool HasAllItMay(const RecoveredState& kept, const RecoveredSweep& sweep,
                 const std::string& hardware) {
  const auto limit = sweep.sharing.limits.find(hardware);
  if (limit == sweep.sharing.limits.end()) return false;
  const auto running = std::ranges::count_if(kept.leases, [&](const RecoveredLease& lease) {
    return lease.member.sweep == sweep.id &&
           sweep.cells.at(lease.member.cell).cell.hardware == hardware;
  });
  return static_cast<size_t>(running) >= limit->second;
}

}  // namespace

void ShareChecker::Check(const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    const auto* grant = std::get_if<GrantLease>(&write);
    if (grant != nullptr) CheckGrant(*grant);
    kept_.Apply({write});
    if (grant != nullptr) last_[grant->member.sweep] = grant->lease;
  }
}

void ShareChecker::CheckGrant(const GrantLease& grant) {
  const RecoveredState& kept = kept_.Recovered();
  const RecoveredSweep& served = SweepOf(kept, grant.member.sweep);
  const RecoveredWorker& worker =
      *std::ranges::find(kept.workers, grant.worker, &RecoveredWorker::worker);
  if (served.sharing.paused) problems_.insert("a paused sweep was given a lease");
  CheckUse(grant, worker);
  const RecoveredCell& cell = served.cells.at(grant.member.cell);
  if (HasAllItMay(kept, served, cell.cell.hardware)) {
    problems_.insert("a sweep was given more of a class than it may have");
  }
  for (const RecoveredSweep& other : kept.sweeps) {
    if (other.id == served.id || other.sharing.paused) continue;
    if (HasAllItMay(kept, other, cell.cell.hardware)) continue;
    if (!HasItsData(other, traits_.at(worker.identity)) || !Waits(other, cell)) continue;
    Compare(served, other);
  }
}

void ShareChecker::CheckUse(const GrantLease& grant, const RecoveredWorker& worker) {
  const bool out =
      worker.drained || worker.quarantined.contains("") || worker.quarantined.contains(grant.unit);
  if (out) problems_.insert("a worker out of use was given a member");
}

// `waits` could have had the lease, too.
void ShareChecker::Compare(const RecoveredSweep& served, const RecoveredSweep& waits) {
  if (waits.sharing.priority != served.sharing.priority) {
    if (waits.sharing.priority > served.sharing.priority) {
      problems_.insert("a sweep of higher priority had to wait");
    }
    return;
  }
  if (waits.sharing.owner != served.sharing.owner) {
    if (GoesBefore(OfOwner(waits.sharing.owner), OfOwner(served.sharing.owner))) {
      problems_.insert("an owner who had less, or had it longer ago, had to wait");
    }
  } else if (GoesBefore(OfSweep(waits.id), OfSweep(served.id))) {
    problems_.insert("a sweep that had less, or had it longer ago, had to wait");
  }
}

bool ShareChecker::GoesBefore(const Standing& first, const Standing& second) {
  const size_t a = first.running * second.weight;
  const size_t b = second.running * first.weight;
  return a != b ? a < b : first.last < second.last;
}

ShareChecker::Standing ShareChecker::OfOwner(const std::string& owner) const {
  Standing standing;
  const std::map<std::string, uint32_t>& weights = kept_.Recovered().weights;
  if (const auto said = weights.find(owner); said != weights.end()) standing.weight = said->second;
  for (const RecoveredSweep& sweep : kept_.Recovered().sweeps) {
    if (sweep.sharing.owner != owner) continue;
    const Standing one = OfSweep(sweep.id);
    standing.running += one.running;
    standing.last = std::max(standing.last, one.last);
  }
  return standing;
}

ShareChecker::Standing ShareChecker::OfSweep(SweepId sweep) const {
  const auto last = last_.find(sweep);
  const auto running = std::ranges::count_if(
      kept_.Recovered().leases,
      [&](const RecoveredLease& lease) { return lease.member.sweep == sweep; });
  return {static_cast<size_t>(running), last == last_.end() ? LeaseId{} : last->second,
          SweepOf(kept_.Recovered(), sweep).sharing.weight};
}

}  // namespace noisefloor::test
