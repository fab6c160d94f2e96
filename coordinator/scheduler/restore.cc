#include "coordinator/scheduler/restore.h"

#include <algorithm>

#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/past_leases.h"
#include "coordinator/scheduler/shares.h"

namespace noisefloor::scheduler {

namespace {

void RestoreCell(State& state, SweepState& sweep, const RecoveredCell& recovered) {
  CellState cell = MakeCell(sweep.content, recovered.cell);
  cell.fingerprint = recovered.fingerprint;
  cell.build = recovered.build;
  cell.untouched = recovered.untouched;
  if (!recovered.members.empty()) cell.members.resize(recovered.members.rbegin()->first + 1);
  for (const auto& [replicate, member] : recovered.members) {
    cell.members[replicate] = {member.state, true, member.attempt, member.forgiven,
                               member.accepted};
    ++sweep.counts.In(member.state);
    if (member.state == MemberState::kLeased) ++sweep.running[cell.cell.hardware];
    if (member.attempt > 0) sweep.counts.retries += member.attempt - 1;
  }
  sweep.counts.In(cell.untouched) += UntouchedCount(cell);
  sweep.counts.members += cell.cell.replicates;
  ++sweep.counts.cells;
  CountCell(state, cell, 1);
  sweep.cells.push_back(std::move(cell));
}

void RestoreSweep(State& state, const RecoveredSweep& recovered) {
  SweepState& sweep = state.sweeps[recovered.id];
  sweep.id = recovered.id;
  sweep.content = recovered.content;
  sweep.specification_sha256 = recovered.specification_sha256;
  sweep.request_id = recovered.request_id;
  sweep.identities = recovered.identities;
  sweep.sharing = recovered.sharing;
  sweep.revision = recovered.revision;
  sweep.counts.gpus.ended = recovered.gpu_time;
  SetOwner(state, sweep);
  for (const RecoveredCell& cell : recovered.cells) RestoreCell(state, sweep, cell);
  state.owners[sweep.owner].standing.running += sweep.counts.In(MemberState::kLeased);
  sweep.times = recovered.times;
  for (const auto& [hardware, times] : recovered.times) {
    sweep.counts.times.sum += times.sum;
    sweep.counts.times.count += times.count;
  }
  for (const uint32_t cell : recovered.cells_with_evaluation_set) {
    sweep.cells_with_evaluation_set.insert(cell);
    sweep.kept_evaluations.insert(sweep.cells.at(cell).evaluation);
  }
  if (!sweep.request_id.empty()) state.sweeps_by_request[sweep.request_id] = sweep.id;
  state.sweeps_by_hash[sweep.specification_sha256].insert(sweep.id);
}

void RestoreWorkers(State& state, const RecoveredState& recovered, absl::Time now) {
  for (const RecoveredWorker& one : recovered.workers) {
    Worker& worker = state.workers[one.worker];
    worker.id = one.worker;
    worker.name = one.name;
    worker.identity = one.identity;
    worker.drained = one.drained;
    worker.quarantined = one.quarantined;
    worker.seen = one.seen;
    worker.heard = std::min(one.seen, now);  // Clocks may go back.
    state.workers_by_identity[one.identity] = one.worker;
  }
}

void RestoreLeases(State& state, const RecoveredState& recovered, absl::Time now) {
  for (const RecoveredLease& one : recovered.leases) {
    Lease& lease = state.leases[one.lease];
    lease.id = one.lease;
    lease.member = one.member;
    lease.attempt = one.attempt;
    lease.worker = one.worker;
    lease.specification = std::make_shared<const std::string>(one.specification);
    lease.sequence = one.sequence;
    lease.slot = one.slot;
    lease.unit = one.unit;
    lease.granted = one.granted;
    lease.gpus = one.gpus;
    lease.restored = true;
    BeginUse(state.sweeps.at(one.member.sweep), lease);
    lease.expires = now + state.options.lease_ttl;
    state.expiry.emplace(lease.expires, lease.id);
    Worker& worker = state.workers.at(lease.worker);
    worker.leases.emplace(lease.id, lease.member);
    worker.heard = now;  // Its session was open, or may be again.
    Touch(state, lease.member).lease = lease.id;
    CellState& cell = CellOf(state, lease.member);
    ++cell.leases_by_unit[lease.unit];
  }
  for (const PastLease& past : recovered.past_leases) AddPast(state, past);
  for (const auto& [id, name] : recovered.forgotten) {
    // Of the others nothing that is needed tells.
    if (state.gone_workers.contains(id)) state.gone_workers.at(id).name = name;
  }
}

// What can be told from the members once all of them are there.
void IndexMembers(State& state) {
  for (auto& [id, sweep] : state.sweeps) {
    for (CellState& cell : sweep.cells) {
      for (uint32_t i = 0; i < cell.members.size(); ++i) {
        const Member& member = cell.members[i];
        const MemberId name = {id, cell.cell.index, i};
        if (member.touched && member.state == MemberState::kWaiting) AddWaiting(state, name);
        const bool result = HasEnded(member.state) && member.lease.value != 0;
        if (result) state.accepted.insert(member.lease);
      }
      if (cell.untouched == MemberState::kWaiting) AddUntouched(state, id, cell);
    }
  }
}

RecoveredSweep DurableSweep(const SweepState& sweep) {
  RecoveredSweep durable;
  durable.id = sweep.id;
  durable.content = sweep.content;
  durable.specification_sha256 = sweep.specification_sha256;
  durable.request_id = sweep.request_id;
  durable.identities = sweep.identities;
  durable.cells_with_evaluation_set.assign(sweep.cells_with_evaluation_set.begin(),
                                           sweep.cells_with_evaluation_set.end());
  for (const CellState& cell : sweep.cells) {
    RecoveredCell& kept = durable.cells.emplace_back();
    kept.cell = cell.cell;
    kept.fingerprint = cell.fingerprint;
    kept.build = cell.build;
    kept.untouched = cell.untouched;
    for (uint32_t i = 0; i < cell.members.size(); ++i) {
      const Member& member = cell.members[i];
      if (!member.touched) continue;
      const bool result = HasEnded(member.state);
      kept.members[i] = {member.state, member.attempt, member.forgiven,
                         result ? member.lease : LeaseId{}};
    }
  }
  durable.times = sweep.times;
  durable.sharing = sweep.sharing;
  durable.revision = sweep.revision;
  durable.gpu_time = sweep.counts.gpus.ended;
  return durable;
}

}  // namespace

std::unique_ptr<State> RestoreState(const Options& options, const RecoveredState& recovered,
                                    absl::Time now) {
  auto state = std::make_unique<State>();
  state->options = options;
  state->last_sweep = recovered.last_sweep;
  state->last_lease = recovered.last_lease;
  state->last_worker = recovered.last_worker;
  state->last_event = recovered.last_event;
  for (const auto& [owner, weight] : recovered.weights) SetOwnerWeight(*state, owner, weight);
  state->software = recovered.software;
  for (const RecoveredSweep& sweep : recovered.sweeps) RestoreSweep(*state, sweep);
  RestoreWorkers(*state, recovered, now);
  RestoreLeases(*state, recovered, now);
  for (auto& [id, sweep] : state->sweeps) sweep.spent = IsSpent(sweep, now);
  IndexMembers(*state);
  state->last_tick = state->restored = now;
  state->now = now;
  return state;
}

RecoveredState DurableState(const State& state) {
  RecoveredState durable;
  for (const auto& [id, sweep] : state.sweeps) durable.sweeps.push_back(DurableSweep(sweep));
  for (const auto& [id, lease] : state.leases) {
    durable.leases.push_back({id, lease.member, lease.attempt, lease.worker, *lease.specification,
                              lease.sequence, lease.slot, lease.unit, lease.granted, lease.gpus});
  }
  for (const auto& [id, past] : state.past_leases) {
    // Those of deleted ones are about to be forgotten.
    if (!state.sweeps.contains(past.member.sweep)) continue;
    durable.past_leases.push_back(past);
    const auto gone = state.gone_workers.find(past.worker);
    if (gone != state.gone_workers.end()) durable.forgotten[past.worker] = gone->second.name;
  }
  for (const auto& [id, worker] : state.workers) {
    durable.workers.push_back(
        {id, worker.name, worker.identity, worker.drained, worker.quarantined, worker.seen});
  }
  for (const Owner& owner : state.owners) {
    if (owner.standing.weight != 1) durable.weights[owner.name] = owner.standing.weight;
  }
  durable.software = state.software;
  durable.last_sweep = state.last_sweep;
  durable.last_lease = state.last_lease;
  durable.last_worker = state.last_worker;
  durable.last_event = state.last_event;
  return durable;
}

}  // namespace noisefloor::scheduler
