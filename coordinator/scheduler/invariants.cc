#include "coordinator/scheduler/invariants.h"

namespace noisefloor::scheduler {

namespace {

using Broken = std::vector<std::string>;

bool IsQueued(const State& state, const MemberId& id) {
  const auto pool = state.waiting.find(PoolOf(CellOf(state, id)));
  return pool != state.waiting.end() && pool->second.contains(KeyOf(id));
}

void CheckMember(const State& state, const MemberId& id, const Member& member, Broken& broken) {
  const std::string name = ToText(id) + " is " + std::string(Name(member.state));
  const bool live = state.leases.contains(member.lease);
  const bool accepted = state.accepted.contains(member.lease);
  const bool result = member.state == MemberState::kDone || member.state == MemberState::kDiverged;
  if (live != (member.state == MemberState::kLeased)) {
    broken.push_back(name + (live ? " and has a live lease" : " and has no live lease"));
  }
  if (accepted != result) {
    broken.push_back(name + (accepted ? " and has a result" : " and has no result"));
  }
  if (IsQueued(state, id) != (member.state == MemberState::kWaiting)) {
    broken.push_back(name + ", which its place among the waiting contradicts");
  }
  if (member.forgiven > member.attempt) {
    broken.push_back(name + " and is forgiven attempts it has not had");
  }
}

void CheckSweep(const State& state, const SweepState& sweep, Broken& broken) {
  if (sweep.members.size() != sweep::MemberCount(sweep.content)) {
    broken.push_back(ToText(sweep.id) + " has another number of members than its definition");
    return;
  }
  for (const CellState& cell : sweep.cells) {
    const std::span<const Member> members = MembersOf(sweep, cell);
    for (uint32_t i = 0; i < members.size(); ++i) {
      CheckMember(state, {sweep.id, cell.cell.index, i}, members[i], broken);
    }
  }
}

void CheckLease(const State& state, const Lease& lease, Broken& broken) {
  const std::string name = Text(lease.id) + " of " + ToText(lease.member);
  const Member* member = FindMember(state, lease.member);
  if (member == nullptr || member->lease != lease.id) {
    broken.push_back(name + " is not the lease of its member");
    return;
  }
  if (member->attempt != lease.attempt) broken.push_back(name + " is not of the last attempt");
  if (lease.id > state.last_lease) broken.push_back(name + " is above the last lease granted");
  if (!state.expiry.contains({lease.expires, lease.id})) broken.push_back(name + " never expires");
  if (!state.workers.at(lease.worker).leases.contains(lease.id)) {
    broken.push_back(name + " is not among the leases of its worker");
  }
  if (CellOf(state, lease.member).fingerprint.empty()) {
    broken.push_back(name + " is of a cell that is not pinned");
  }
}

void CheckWorker(const State& state, const Worker& worker, Broken& broken) {
  for (const LeaseId lease : worker.leases) {
    const auto it = state.leases.find(lease);
    if (it == state.leases.end() || it->second.worker != worker.id) {
      broken.push_back(worker.name + " has " + Text(lease) + ", which is not live or not its own");
    }
  }
  if (!worker.session) return;
  const auto it = state.sessions.find(*worker.session);
  if (it == state.sessions.end() || it->second != worker.id) {
    broken.push_back(worker.name + " has a session that is not its own");
  }
}

}  // namespace

std::vector<std::string> CheckInvariants(const State& state) {
  Broken broken;
  for (const auto& [id, sweep] : state.sweeps) CheckSweep(state, sweep, broken);
  for (const auto& [id, lease] : state.leases) {
    CheckLease(state, lease, broken);
    if (state.past_leases.contains(id) || state.accepted.contains(id)) {
      broken.push_back(Text(id) + " is live and ended");
    }
  }
  for (const auto& [id, past] : state.past_leases) {
    if (state.accepted.contains(id)) broken.push_back(Text(id) + " is both lost and accepted");
  }
  for (const auto& [id, worker] : state.workers) CheckWorker(state, worker, broken);
  if (state.expiry.size() != state.leases.size()) {
    broken.push_back("there are other expiry times than leases");
  }
  size_t queued = 0;
  size_t waiting = 0;
  for (const auto& [pool, keys] : state.waiting) queued += keys.size();
  for (const auto& [id, sweep] : state.sweeps) {
    for (const Member& member : sweep.members) waiting += member.state == MemberState::kWaiting;
  }
  if (queued != waiting) broken.push_back("there are other places in the queues than members");
  return broken;
}

}  // namespace noisefloor::scheduler
