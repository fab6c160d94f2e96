#include "coordinator/scheduler/invariants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/past_leases.h"

namespace noisefloor::scheduler {

namespace {

using Broken = std::vector<std::string>;

bool IsQueued(const State& state, const MemberId& id) {
  const CellState& cell = CellOf(state, id);
  const Line* line = FindLine(state, PoolOf(cell), id.sweep);
  const bool again = line != nullptr && line->again.contains(KeyOf(id));
  return again != cell.fresh.Contains(id.replicate);  // In one of them, not in both.
}

// The cell stands in its queue with its first fresh member, and only so.
void CheckPlace(const State& state, SweepId sweep, const CellState& cell, Broken& broken) {
  const auto first = cell.fresh.first();
  if (!first) return;
  const Line* line = FindLine(state, PoolOf(cell), sweep);
  if (line == nullptr || !line->cells.contains({sweep, *first, cell.cell.index})) {
    broken.push_back(ToText(MemberId{sweep, cell.cell.index, *first}) + " is not in its queue");
  }
}

void CheckMember(const State& state, const MemberId& id, const Member& member, Broken& broken) {
  const std::string name = ToText(id) + " is " + std::string(Name(member.state));
  const bool live = state.leases.contains(member.lease);
  const bool accepted = state.accepted.contains(member.lease);
  const bool result = HasResult(member.state);
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
  SweepCounts counted;
  std::map<std::string, uint32_t> running;
  counted.cells = static_cast<uint32_t>(sweep.cells.size());
  for (const CellState& cell : sweep.cells) {
    counted.members += cell.cell.replicates;
    CheckPlace(state, sweep.id, cell, broken);
    for (uint32_t i = 0; i < cell.members.size(); ++i) {
      const Member& member = cell.members[i];
      if (!member.touched) continue;
      ++counted.In(member.state);
      if (member.state == MemberState::kLeased) ++running[cell.cell.hardware];
      if (member.attempt > 0) counted.retries += member.attempt - 1;
      CheckMember(state, {sweep.id, cell.cell.index, i}, member, broken);
    }
    counted.In(cell.untouched) += UntouchedCount(cell);
  }
  if (counted.members != sweep::MemberCount(sweep.content)) {
    broken.push_back(ToText(sweep.id) + " has another number of members than its definition");
  }
  if (running != sweep.running) {
    broken.push_back(ToText(sweep.id) + " counts others than run on a hardware class");
  }
  counted.times = sweep.counts.times;
  counted.running = sweep.counts.running;
  counted.gpus = sweep.counts.gpus;  // See CheckGpus.
  const bool runs = sweep.counts.In(MemberState::kLeased) > 0;
  if (!runs && std::abs(sweep.counts.running) > 1e-6) {
    broken.push_back(ToText(sweep.id) + " counts steps of members that do not run");
  }
  if (counted != sweep.counts)
    broken.push_back(ToText(sweep.id) + " has other counts than members");
}

void CheckLease(const State& state, const Lease& lease, Broken& broken) {
  const std::string name = Text(lease.id) + " of " + ToText(lease.member);
  const std::optional<Member> member = FindMember(state, lease.member);
  if (!member || member->lease != lease.id) {
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
  for (const auto& [lease, member] : worker.leases) {
    const auto it = state.leases.find(lease);
    if (it == state.leases.end() || it->second.worker != worker.id || it->second.member != member) {
      broken.push_back(worker.name + " has " + Text(lease) + ", which is not live or not its own");
    }
  }
  for (uint32_t slot = 0; slot < worker.lease_of_slot.size(); ++slot) {
    const LeaseId lease = worker.lease_of_slot[slot];
    const bool free = worker.groups[worker.group_of_slot[slot]].free.contains(slot);
    if (free != (lease == LeaseId{})) {
      broken.push_back(worker.name + " has a slot that is both free and not");
    }
    if (lease != LeaseId{} && !worker.leases.contains(lease)) {
      broken.push_back(worker.name + " keeps a slot for " + Text(lease) + ", which it has not");
    }
  }
  const bool ready = IsOpen(worker) && HasFreeSlot(worker);
  if (ready != state.ready.contains(worker.id)) {
    broken.push_back(worker.name + (ready ? " has a slot that nobody sees" : " has no free slot"));
  }
  if (!worker.session) return;
  const auto named = state.connected_by_name.find(worker.name);
  if (named == state.connected_by_name.end() || named->second != worker.id) {
    broken.push_back(worker.name + " is connected, and nobody finds it by its name");
  }
  const auto it = state.sessions.find(*worker.session);
  if (it == state.sessions.end() || it->second != worker.id) {
    broken.push_back(worker.name + " has a session that is not its own");
  }
}

// Turns are those that would be taken now, were they made anew.
void CheckTurns(const State& state, const Pool& pool, const Queue& queue, Broken& broken) {
  Turns expected;
  for (const auto& [id, line] : queue.lines) {
    const SweepState& sweep = state.sweeps.at(id);
    if (MayLease(sweep, pool)) expected.Insert(TurnOf(state, sweep));
  }
  if (queue.turns != expected) broken.push_back("sweeps take other turns than they should");
}

void CheckOwners(const State& state, Broken& broken) {
  std::vector<uint32_t> running(state.owners.size());
  for (const auto& [id, sweep] : state.sweeps) {
    running.at(sweep.owner) += sweep.counts.In(MemberState::kLeased);
    if (state.owners[sweep.owner].name != sweep.sharing.owner) {
      broken.push_back(ToText(id) + " is counted as somebody else's");
    }
  }
  for (size_t i = 0; i < running.size(); ++i) {
    if (running[i] == state.owners[i].standing.running) continue;
    broken.push_back("an owner has other members running than are counted");
  }
}

void CheckGpus(const State& state, Broken& broken) {
  std::map<SweepId, SweepState> counted;
  for (const auto& [id, lease] : state.leases) BeginUse(counted[lease.member.sweep], lease);
  for (const auto& [id, sweep] : state.sweeps) {
    const GpuUse& use = counted[id].counts.gpus;
    if (use.live == sweep.counts.gpus.live && use.begun == sweep.counts.gpus.begun) continue;
    broken.push_back(ToText(id) + " counts other GPUs than its leases have");
  }
}

void CheckClasses(const State& state, Broken& broken) {
  State counted;
  for (const auto& [id, sweep] : state.sweeps) {
    for (const CellState& cell : sweep.cells) CountCell(counted, cell, 1);
  }
  for (const Removed& removed : state.removed) {
    const std::vector<CellState>& cells = removed.sweep.cells;
    for (size_t i = removed.cell; i < cells.size(); ++i) CountCell(counted, cells[i], 1);
    for (uint32_t i = 0; i < removed.replicate; ++i) {
      const CellState& cell = cells[removed.cell];
      const Member& gone = cell.members[i];
      if (gone.touched) CountInClass(counted, cell.cell.hardware, gone.state, -1);
    }
  }
  if (counted.by_class != state.by_class) {
    broken.push_back("classes have other counts than members");
  }
}

// What placement looks at, made anew of the workers.
void CheckOffers(const State& state, Broken& broken) {
  std::map<Pool, std::set<WorkerId>> ready;
  std::map<std::string, uint32_t> classes;
  std::map<std::string, uint32_t> stacks;
  for (const auto& [id, worker] : state.workers) {
    if (worker.inventory == nullptr) continue;
    if (worker.session) {
      for (const std::string& name : ClassesOf(*worker.inventory)) ++classes[name];
      for (const std::string& name : StacksOf(*worker.inventory)) ++stacks[name];
    }
    if (!state.ready.contains(id)) continue;
    for (const Inventory::Offer& offer : worker.inventory->offers) {
      ready[{offer.hardware_class, offer.stack, offer.fingerprint, offer.schema, 0}].insert(id);
    }
  }
  const auto same = [](const auto& entry, const auto& of_index) {
    return entry.first == of_index.first && std::ranges::equal(entry.second, of_index.second);
  };
  if (!std::ranges::equal(ready, state.ready_by_offer, same)) {
    broken.push_back("workers with a free slot are found by other offers than they make");
  }
  if (classes != state.offered_classes || stacks != state.offered_stacks) {
    broken.push_back("classes or stacks are counted that other workers offer");
  }
}

void CheckNames(const State& state, Broken& broken) {
  size_t by_hash = 0;
  for (const auto& [hash, sweeps] : state.sweeps_by_hash) by_hash += sweeps.size();
  if (by_hash != state.sweeps.size()) broken.push_back("sweeps are found by other hashes");
  size_t by_request = 0;
  for (const auto& [id, sweep] : state.sweeps) {
    by_request += sweep.request_id.empty() ? 0 : 1;
    const auto hash = state.sweeps_by_hash.find(sweep.specification_sha256);
    if (hash == state.sweeps_by_hash.end() || !hash->second.contains(id)) {
      broken.push_back(ToText(id) + " is not found by its hash");
    }
    if (sweep.request_id.empty()) continue;
    const auto request = state.sweeps_by_request.find(sweep.request_id);
    if (request == state.sweeps_by_request.end() || request->second != id) {
      broken.push_back(ToText(id) + " is not found by its request");
    }
  }
  if (by_request != state.sweeps_by_request.size()) {
    broken.push_back("requests lead to other sweeps than there are");
  }
  if (state.workers_by_identity.size() != state.workers.size()) {
    broken.push_back("there are other identities than workers");
  }
  for (const auto& [identity, id] : state.workers_by_identity) {
    const auto worker = state.workers.find(id);
    if (worker == state.workers.end() || worker->second.identity != identity) {
      broken.push_back("an identity leads to a worker that has another one, or is none");
    }
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
  if (state.connected_by_name.size() != state.sessions.size()) {
    broken.push_back("there are other names of connected workers than sessions");
  }
  std::ranges::move(BrokenPast(state), std::back_inserter(broken));
  if (state.expiry.size() != state.leases.size()) {
    broken.push_back("there are other expiry times than leases");
  }
  CheckOffers(state, broken);
  CheckNames(state, broken);
  CheckOwners(state, broken);
  CheckClasses(state, broken);
  CheckGpus(state, broken);
  size_t places = 0;
  size_t cells = 0;
  size_t waiting = 0;
  for (const auto& [pool, queue] : state.waiting) {
    if (queue.lines.empty()) broken.push_back("there is an empty queue");
    for (const auto& [id, line] : queue.lines) {
      places += line.again.size();
      cells += line.cells.size();
      if (line.empty()) broken.push_back("there is an empty line");
      size_t fresh = 0;
      for (const WaitKey& first : line.cells) fresh += CellOf(state, MemberOf(first)).fresh.size();
      if (line.fresh != fresh) broken.push_back("a line counts other members than it has");
    }
    CheckTurns(state, pool, queue, broken);
  }
  for (const auto& [id, sweep] : state.sweeps) {
    waiting += sweep.counts.In(MemberState::kWaiting);
    for (const CellState& cell : sweep.cells) {
      places += cell.fresh.size();
      cells -= cell.fresh.empty() ? 0 : 1;
    }
  }
  if (places != waiting || cells != 0) {
    broken.push_back("there are other places in the queues than members");
  }
  return broken;
}

}  // namespace noisefloor::scheduler
