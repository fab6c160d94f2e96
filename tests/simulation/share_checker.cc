#include "tests/simulation/share_checker.h"

#include <algorithm>

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: the writes are named so often here.

namespace {

bool AskTheSame(const RecoveredCell& a, const RecoveredCell& b) {
  return a.cell.hardware == b.cell.hardware && a.cell.stack == b.cell.stack &&
         a.fingerprint == b.fingerprint;
}

// Whether what the worker reads is what the sweep was pinned to, as far as it was.
bool HasItsData(const RecoveredSweep& sweep, const WorkerTraits& worker) {
  return std::ranges::all_of(
      sweep.identities, [&](const auto& pinned) { return pinned.second == worker.data_identity; });
}

}  // namespace

void ShareChecker::Check(const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    const auto* grant = std::get_if<GrantLease>(&write);
    if (grant != nullptr) CheckGrant(*grant);
    kept_.Apply({write});
    Count(write);
    if (grant != nullptr) last_[grant->member.sweep] = grant->lease;
  }
}

// Where the cell is pinned at its first lease, that is kept before the lease.
void ShareChecker::Count(const Write& write) {
  if (const auto* grant = std::get_if<GrantLease>(&write)) {
    const MemberId& member = grant->member;
    const std::string& hardware =
        SweepOf(kept_.Recovered(), member.sweep).cells.at(member.cell).cell.hardware;
    if (!live_.try_emplace(grant->lease, member.sweep, hardware).second) return;
    ++running_[member.sweep][hardware];
  } else if (const auto* drop = std::get_if<DropLease>(&write)) {
    const auto lease = live_.extract(drop->lease);
    if (!lease.empty()) --running_[lease.mapped().first][lease.mapped().second];
  }
}

// Whether a member of the sweep that was never attempted waits for what the cell asks for.
bool ShareChecker::Waits(const RecoveredSweep& sweep, const RecoveredCell& cell) const {
  return std::ranges::any_of(sweep.cells, [&](const RecoveredCell& own) {
    return AskTheSame(own, cell) && kept_.HasFresh(sweep.id, own);
  });
}

// Whether as many of its members run on the class as may.
bool ShareChecker::HasAllItMay(const RecoveredSweep& sweep, const std::string& hardware) const {
  const auto limit = sweep.sharing.limits.find(hardware);
  if (limit == sweep.sharing.limits.end()) return false;
  const auto running = running_.find(sweep.id);
  if (running == running_.end()) return limit->second == 0;
  const auto count = running->second.find(hardware);
  return (count == running->second.end() ? 0 : count->second) >= limit->second;
}

void ShareChecker::CheckGrant(const GrantLease& grant) {
  const RecoveredState& kept = kept_.Recovered();
  const RecoveredSweep& served = SweepOf(kept, grant.member.sweep);
  const RecoveredWorker& worker =
      *std::ranges::find(kept.workers, grant.worker, &RecoveredWorker::worker);
  if (served.sharing.paused) problems_.insert("a paused sweep was given a lease");
  CheckUse(grant, worker);
  const RecoveredCell& cell = served.cells.at(grant.member.cell);
  if (HasAllItMay(served, cell.cell.hardware)) {
    problems_.insert("a sweep was given more of a class than it may have");
  }
  for (const RecoveredSweep& other : kept.sweeps) {
    if (other.id == served.id || other.sharing.paused) continue;
    if (other.sharing.gpu_hours > 0)
      continue;  // Ticks decide when they are used up, and clocks jump.
    if (HasAllItMay(other, cell.cell.hardware)) continue;
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
  size_t count = 0;
  if (const auto running = running_.find(sweep); running != running_.end()) {
    for (const auto& [hardware, leases] : running->second) count += leases;
  }
  return {count, last == last_.end() ? LeaseId{} : last->second,
          SweepOf(kept_.Recovered(), sweep).sharing.weight};
}

}  // namespace noisefloor::test
