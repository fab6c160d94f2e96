// What passes with time: leases expire, quarantines and rests end, members without a worker of
// their data fail. And whether the store keeps anything.
#include <algorithm>

#include "coordinator/scheduler/deletion.h"
#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/past_leases.h"
#include "coordinator/scheduler/patience.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/quarantine.h"
#include "coordinator/scheduler/selection.h"

namespace noisefloor::scheduler {

namespace {

// For so long nobody could renew a lease.
void GiveBack(State& state, absl::Duration gap) {
  state.expiry.clear();
  for (auto& [id, lease] : state.leases) {
    lease.expires += gap;
    state.expiry.emplace(lease.expires, id);
  }
}

// When the coordinator itself stood still, the workers could not renew: give them the time back.
void ForgiveStall(State& state, absl::Duration gap) {
  if (gap > state.options.lease_ttl / 2) GiveBack(state, gap);
}

std::string WhyExpired(const State& state, const Lease& lease, absl::Time now) {
  const Worker& worker = state.workers.at(lease.worker);
  const std::string length = std::to_string(absl::ToInt64Seconds(state.options.lease_ttl)) + " s";
  const bool alive = worker.session && !IsSilent(worker, state.options, now);
  return alive ? worker.name + " did not take it up within " + length
               : "no sign of life from " + worker.name + " for " + length;
}

void ExpireLeases(Turn& turn) {
  State& state = turn.state;
  for (uint32_t i = 0; i < state.options.most_at_once && !turn.IsFull() && IsExpiryDue(state);
       ++i) {
    const LeaseId id = state.expiry.begin()->second;
    const MemberId member = state.leases.at(id).member;
    const std::string reason = WhyExpired(state, state.leases.at(id), turn.now);
    turn.Happened(member, "lease_expired", Text(id) + " of " + ToText(member) + ": " + reason);
    Stop(turn, state.leases.at(id), reason);
    Lose(turn, id, CauseClass::kLostWorker, reason);
  }
}

// What waits, of this sweep, in pools that some connected worker could serve, had it not other
// data.
struct WithoutData {
  std::vector<uint32_t> cells;    // Their untouched members.
  std::vector<MemberId> members;  // Touched ones.
};

WithoutData FindWithoutData(const State& state, const SweepState& sweep) {
  WithoutData found;
  for (const auto& [pool, queue] : state.waiting) {
    const auto line = queue.lines.find(sweep.id);
    if (line == queue.lines.end()) continue;
    bool offered = false;
    bool usable = false;
    for (const auto& [id, worker] : state.workers) {
      const bool offers = worker.session && Offers(worker, pool);
      offered = offered || offers;
      usable = usable || (offers && !sweep.excluded.contains(id));
    }
    if (!offered || usable) continue;
    for (const WaitKey& key : line->second.again) found.members.push_back(MemberOf(key));
    for (const WaitKey& key : line->second.cells) found.cells.push_back(key.cell);
  }
  return found;
}

// Members of the cell that wait, have a row, and have had no attempt.
void AddFreshWithRow(SweepId sweep, const CellState& cell, std::vector<MemberId>& members) {
  for (uint32_t i = 0; i < cell.members.size(); ++i) {
    if (cell.members[i].touched && cell.fresh.Contains(i)) {
      members.push_back({sweep, cell.cell.index, i});
    }
  }
}

// One tick fails so many as fit in a turn, the next ones the rest.
void FailWithoutData(Turn& turn, SweepState& sweep) {
  if (!MayLease(sweep)) sweep.without_data_since.reset();
  if (sweep.excluded.empty() || !MayLease(sweep)) return;
  WithoutData found = FindWithoutData(turn.state, sweep);
  if (found.members.empty() && found.cells.empty()) {
    sweep.without_data_since.reset();
    return;
  }
  if (!sweep.without_data_since) sweep.without_data_since = turn.now;
  if (turn.now - *sweep.without_data_since < turn.state.options.data_grace || turn.IsFull()) return;
  size_t count = 0;
  for (const uint32_t index : found.cells) {
    CellState& cell = sweep.cells[index];
    AddFreshWithRow(sweep.id, cell, found.members);
    if (cell.untouched == MemberState::kWaiting) {
      count += SetUntouchedState(turn, sweep, cell, MemberState::kFailed);
    }
  }
  for (const MemberId& id : found.members) {
    if (turn.IsFull()) break;
    SetState(turn, id, MemberState::kFailed);
    ++count;
  }
  if (!turn.IsFull()) sweep.without_data_since.reset();
  turn.Happened(sweep.id, "members_failed",
                Count(count, "member") +
                    " failed: every connected worker that could train them has other "
                    "data; the last: " +
                    sweep.excluded.rbegin()->second);
}

// After a restart every worker has so long, whenever it was last heard of. And one that is gone for
// less is not kept as gone: a stream may break often.
absl::Duration ComesBackWithin(const Options& options) {
  return std::min(absl::Hours(1), options.forget_after);
}

// Once an hour of one that is heard, and of one that is gone its last sign of life.
void NoteSeen(Turn& turn, Worker& worker) {
  const absl::Time heard = AsKept(worker.heard);
  const absl::Duration enough = ComesBackWithin(turn.state.options);
  const bool gone = !worker.session && turn.now - worker.heard >= enough;
  if (heard == worker.seen || turn.IsFull()) return;
  if (!gone && heard - worker.seen < enough) return;
  worker.seen = heard;
  turn.Keep(KeepSeen{worker.id, worker.seen});
}

// So many as fit in a turn; the next tick goes on.
void ForgetWorkers(Turn& turn) {
  State& state = turn.state;
  const bool may_be_back = turn.now - state.restored < ComesBackWithin(state.options);
  for (auto it = state.workers.begin(); it != state.workers.end();) {
    Worker& worker = it->second;
    const bool gone =
        !may_be_back && !worker.session && worker.leases.empty() && !worker.drained &&
        worker.quarantined.empty() &&
        turn.now - worker.heard >=
            (worker.unheard > 0 ? state.options.forget_late_after : state.options.forget_after);
    if (!gone || turn.IsFull()) {
      NoteSeen(turn, worker);
      ++it;
      continue;
    }
    turn.Keep(ForgetWorker{worker.id});
    turn.effects.changed.workers.insert(worker.id);
    for (auto& [id, sweep] : state.sweeps) sweep.excluded.erase(worker.id);
    ++it;
    ForgetWorkerOf(state, WorkerId(worker.id));
  }
}

}  // namespace

bool IsExpiryDue(const State& state) {
  return !state.expiry.empty() && state.expiry.begin()->first <= state.expires_at;
}

void On(Turn& turn, const StorageFailed& event) {
  if (!turn.state.storage_failed_since) turn.state.storage_failed_since = turn.now;
  turn.Happened(std::nullopt, "storage_failed", "nothing is leased: " + event.message);
}

// Heartbeats of the meantime were not heard: all leases get it back, and no tick gives it again.
void On(Turn& turn, const StorageRecovered&) {
  State& state = turn.state;
  if (!state.storage_failed_since) return;
  const absl::Duration gap = turn.now - *state.storage_failed_since;
  state.storage_failed_since.reset();
  GiveBack(state, gap);
  if (state.last_tick) state.last_tick = std::min(*state.last_tick + gap, turn.now);
  state.placement_due = true;
  turn.Happened(std::nullopt, "storage_recovered", "leasing goes on");
}

// While nothing can be kept no heartbeat is heard, so nothing ends for want of one.
void On(Turn& turn, const Tick&) {
  State& state = turn.state;
  if (state.storage_failed_since) return;
  if (state.last_tick) {
    ForgiveStall(state, turn.now - *state.last_tick);
    EndPauses(turn, *state.last_tick);
  }
  state.last_tick = state.expires_at = turn.now;
  ExpireLeases(turn);
  for (auto& [id, sweep] : state.sweeps) {
    FailWithoutData(turn, sweep);
    StopAtMaxFailures(turn, sweep);  // After a restart; else it has happened already.
    CheckUse(turn, sweep);
  }
  ForgetWorkers(turn);
  EndWaits(state, turn.now);
}

void On(Turn& turn, const Continue&) {
  if (turn.state.storage_failed_since) return;
  if (IsExpiryDue(turn.state)) ExpireLeases(turn);
  ContinueChanges(turn);
  ForgetRemoved(turn);
}

}  // namespace noisefloor::scheduler
