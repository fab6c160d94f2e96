#include "coordinator/scheduler/state.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/check.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/scheduler/shares.h"

namespace noisefloor::scheduler {

void Turn::Happened(const MemberId& member, std::string kind, std::string text) {
  state.last_event = EventId{state.last_event.value + 1};
  Keep(AppendEvent{member.sweep, member, std::move(kind), std::move(text), now, state.last_event});
}

void Turn::Happened(std::optional<SweepId> sweep, std::string kind, std::string text,
                    std::string caller) {
  state.last_event = EventId{state.last_event.value + 1};
  Keep(AppendEvent{sweep, std::nullopt, std::move(kind), std::move(text), now, state.last_event,
                   std::move(caller)});
}

WaitKey Line::first() const {
  if (cells.empty()) return *again.begin();
  if (again.empty()) return *cells.begin();
  return std::min(*cells.begin(), *again.begin());
}

std::optional<Member> FindMember(const State& state, const MemberId& id) {
  const auto it = state.sweeps.find(id.sweep);
  if (it == state.sweeps.end() || id.cell >= it->second.cells.size()) return std::nullopt;
  const CellState& cell = it->second.cells[id.cell];
  if (id.replicate >= cell.cell.replicates) return std::nullopt;
  return MemberOf(cell, id.replicate);
}

Member MemberOf(const CellState& cell, uint32_t replicate) {
  const bool touched = replicate < cell.members.size() && cell.members[replicate].touched;
  return touched ? cell.members[replicate] : Member{.state = cell.untouched};
}

absl::Time AsKept(absl::Time time) { return absl::FromUnixMicros(absl::ToUnixMicros(time)); }

Member& Touch(State& state, const MemberId& id) {
  CellState& cell = CellOf(state, id);
  NF_CHECK(id.replicate < cell.cell.replicates);
  if (id.replicate >= cell.members.size()) cell.members.resize(id.replicate + 1);
  Member& member = cell.members[id.replicate];
  if (!member.touched) member = {.state = cell.untouched, .touched = true};
  return member;
}

SweepState* FindSweep(State& state, SweepId id) {
  const auto it = state.sweeps.find(id);
  return it == state.sweeps.end() ? nullptr : &it->second;
}

const CellState& CellOf(const State& state, const MemberId& id) {
  return state.sweeps.at(id.sweep).cells.at(id.cell);
}

CellState& CellOf(State& state, const MemberId& id) {
  return state.sweeps.at(id.sweep).cells.at(id.cell);
}

Worker* WorkerOf(State& state, SessionId session) {
  const auto it = state.sessions.find(session);
  return it == state.sessions.end() ? nullptr : &state.workers.at(it->second);
}

WaitKey KeyOf(const MemberId& id) { return {id.sweep, id.replicate, id.cell}; }

MemberId MemberOf(const WaitKey& key) { return {key.sweep, key.cell, key.replicate}; }

Pool PoolOf(const CellState& cell) {
  return {cell.cell.hardware, cell.cell.stack, cell.fingerprint, cell.schema,
          cell.cell.hardware.empty() ? cell.devices : 0};
}

namespace {

void SetReady(State& state, const Worker& worker, bool ready) {
  if (ready == state.ready.contains(worker.id)) return;
  if (ready) {
    state.ready.insert(worker.id);
  } else {
    state.ready.erase(worker.id);
  }
  for (const Inventory::Offer& offer : worker.inventory->offers) {
    const Pool offered = {offer.hardware_class, offer.stack, offer.fingerprint, offer.schema, 0};
    UndoSet<WorkerId>& workers = state.ready_by_offer[offered];
    if (ready) {
      workers.insert(worker.id);
    } else {
      workers.erase(worker.id);
    }
    if (workers.empty()) state.ready_by_offer.erase(offered);
  }
}

}  // namespace

void UpdateReady(State& state, const Worker& worker) {
  SetReady(state, worker, IsOpen(worker) && HasFreeSlot(worker));
}

bool IsOpen(const Worker& worker) { return worker.session && !worker.draining && !worker.drained; }

bool HasFreeSlot(const Worker& worker) {
  return std::ranges::any_of(worker.groups,
                             [](const SlotGroup& group) { return !group.free.empty(); });
}

namespace {

SlotGroup& GroupOf(Worker& worker, const std::string& unit, const Inventory::Slot& slot) {
  const auto same = std::ranges::find_if(worker.groups, [&](const SlotGroup& group) {
    return group.unit == unit && group.offers == slot.offers;
  });
  if (same != worker.groups.end()) return *same;
  return worker.groups.emplace_back(SlotGroup{unit, slot.offers, 0, {}});
}

// Some slot trains what was granted before leases named one.
void TakeAnySlot(Worker& worker, LeaseId lease) {
  for (SlotGroup& group : worker.groups) {
    if (group.free.empty()) continue;
    worker.lease_of_slot[*group.free.begin()] = lease;
    group.free.erase(group.free.begin());
    return;
  }
}

}  // namespace

void SetInventory(State& state, Worker& worker, std::shared_ptr<const Inventory> inventory) {
  SetReady(state, worker, false);  // As long as it is known what it offered.
  worker.inventory = std::move(inventory);
  worker.groups.clear();
  worker.group_of_slot.clear();
  const std::vector<Inventory::Slot>& slots = worker.inventory->slots;
  worker.lease_of_slot.assign(slots.size(), LeaseId{});
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    SlotGroup& group = GroupOf(worker, UnitOf(*worker.inventory, slots[slot]), slots[slot]);
    ++group.count;
    group.free.insert(slot);
    worker.group_of_slot.push_back(static_cast<uint32_t>(&group - worker.groups.data()));
  }
  for (const auto& [id, member] : worker.leases) {
    const Lease& lease = state.leases.at(id);
    if (!lease.slot || *lease.slot >= slots.size()) continue;
    SlotGroup& group = worker.groups[worker.group_of_slot[*lease.slot]];
    if (group.unit != lease.unit) continue;
    group.free.erase(*lease.slot);
    worker.lease_of_slot[*lease.slot] = id;
  }
  for (const auto& [id, member] : worker.leases) {
    if (!state.leases.at(id).slot) TakeAnySlot(worker, id);
  }
}

uint32_t TakeSlot(State& state, Worker& worker, SlotGroup& group, const Lease& lease) {
  NF_CHECK(!group.free.empty());
  const uint32_t slot = *group.free.begin();
  group.free.erase(group.free.begin());
  worker.lease_of_slot[slot] = lease.id;
  worker.leases.emplace(lease.id, lease.member);
  UpdateReady(state, worker);
  return slot;
}

namespace {

// As many as there are when it has none.
uint32_t SlotOf(const Worker& worker, LeaseId lease) {
  return static_cast<uint32_t>(std::ranges::find(worker.lease_of_slot, lease) -
                               worker.lease_of_slot.begin());
}

}  // namespace

void FreeSlot(State& state, Worker& worker, const Lease& lease) {
  worker.leases.erase(lease.id);
  const auto slots = static_cast<uint32_t>(worker.lease_of_slot.size());
  const uint32_t slot = lease.slot ? *lease.slot : SlotOf(worker, lease.id);
  if (slot < slots && worker.lease_of_slot[slot] == lease.id) {
    worker.lease_of_slot[slot] = LeaseId{};
    worker.groups[worker.group_of_slot[slot]].free.insert(slot);
  }
  UpdateReady(state, worker);
}

Line& LineOf(State& state, const Pool& pool, SweepId id) {
  Queue& queue = state.waiting[pool];
  const auto [line, is_first] = queue.lines.try_emplace(id);
  const SweepState& sweep = state.sweeps.at(id);
  if (is_first && MayLease(sweep, pool)) {
    if (queue.turns.empty()) ++state.pools_changed;  // Lines of paused sweeps may have lain there.
    queue.turns.Insert(TurnOf(state, sweep));
  }
  return line->second;
}

void DropIfEmpty(State& state, const Pool& pool, SweepId id) {
  const auto queue = state.waiting.find(pool);
  if (queue == state.waiting.end()) return;
  const auto line = queue->second.lines.find(id);
  if (line == queue->second.lines.end() || !line->second.empty()) return;
  const SweepState& sweep = state.sweeps.at(id);
  if (MayLease(sweep, pool)) queue->second.turns.Erase(TurnOf(state, sweep));
  queue->second.lines.erase(line);
  if (!queue->second.lines.empty()) return;
  state.waiting.erase(queue);
  ++state.pools_changed;
}

const Line* FindLine(const State& state, const Pool& pool, SweepId sweep) {
  const auto queue = state.waiting.find(pool);
  if (queue == state.waiting.end()) return nullptr;
  const auto line = queue->second.lines.find(sweep);
  return line == queue->second.lines.end() ? nullptr : &line->second;
}

void SetOwner(State& state, SweepState& sweep) {
  sweep.owner = NumberOfOwner(state, sweep.sharing.owner);
}

bool MayLease(const SweepState& sweep) { return !sweep.sharing.paused && !sweep.spent; }

bool MayLease(const SweepState& sweep, const Pool& pool) {
  return MayLease(sweep) && !AtLimit(sweep, pool.hardware);
}

bool AtLimit(const SweepState& sweep, const std::string& hardware) {
  const auto limit = sweep.sharing.limits.find(hardware);
  if (limit == sweep.sharing.limits.end()) return false;
  const auto running = sweep.running.find(hardware);
  return running != sweep.running.end() && running->second >= limit->second;
}

Standing StandingOf(const SweepState& sweep) {
  return {sweep.counts.In(MemberState::kLeased), sweep.last_lease, sweep.sharing.weight};
}

Turnstile TurnOf(const State& state, const SweepState& sweep) {
  return {sweep.sharing.priority, sweep.owner, state.owners[sweep.owner].standing, sweep.id,
          StandingOf(sweep)};
}

void SetSharing(State& state, SweepState& sweep, Sharing sharing, bool spent) {
  const auto each_turn = [&](auto change) {
    for (auto& [pool, queue] : state.waiting) {
      if (MayLease(sweep, pool) && queue.lines.contains(sweep.id)) change(queue.turns);
    }
  };
  each_turn([&](Turns& turns) { turns.Erase(TurnOf(state, sweep)); });
  sweep.sharing = std::move(sharing);
  sweep.spent = spent;
  each_turn([&](Turns& turns) { turns.Insert(TurnOf(state, sweep)); });
}

namespace {

// Of a sweep whose owner's standing is `now`'s already. Where it is at its limit it has no turn.
void MoveTurn(Turns& turns, const Turnstile& now, const Standing& before, bool was_at_limit,
              bool is_at_limit) {
  Turnstile then = now;
  then.of_sweep = before;
  if (!was_at_limit && !is_at_limit) return turns.MoveSweep(then, now.of_sweep);
  if (!was_at_limit) turns.Erase(then);
  if (!is_at_limit) turns.Insert(now);
}

// One more or less of the sweep's members has a live lease on the class, or has none any more.
void CountLeased(State& state, SweepState& sweep, const std::string& hardware, bool more) {
  const Turnstile before = TurnOf(state, sweep);
  const bool was_at_limit = AtLimit(sweep, hardware);
  const auto on_class = sweep.running.try_emplace(hardware).first;
  on_class->second += more ? 1 : -1;
  if (on_class->second == 0) sweep.running.erase(on_class);
  uint32_t& running = sweep.counts.In(MemberState::kLeased);
  Standing& owner = state.owners[sweep.owner].standing;
  running += more ? 1 : -1;
  owner.running += more ? 1 : -1;
  if (more) sweep.last_lease = owner.last = state.last_lease;
  const Turnstile now = TurnOf(state, sweep);
  for (auto& [pool, queue] : state.waiting) {
    ++state.looked_at;
    queue.turns.MoveOwner(sweep.owner, before.of_owner, owner);
    if (!MayLease(sweep) || !queue.lines.contains(sweep.id)) continue;
    const bool is_at_limit = AtLimit(sweep, pool.hardware);
    const bool was = pool.hardware == hardware ? was_at_limit : is_at_limit;
    MoveTurn(queue.turns, now, before.of_sweep, was, is_at_limit);
  }
  if (running == 0) sweep.counts.running = 0;  // Without what rounding left.
}

}  // namespace

bool NothingBuiltOn(const CellState& cell) {
  return std::ranges::all_of(cell.members,
                             [](const Member& member) { return member.lease == LeaseId{}; });
}

namespace {

// Changes the fresh members of a cell, and with them its place in its queue.
template <typename Change>
void ChangeFresh(State& state, SweepId sweep, CellState& cell, const Change& change) {
  const auto before = cell.fresh.first();
  const size_t size = cell.fresh.size();
  change(cell.fresh);
  const auto after = cell.fresh.first();
  if (before == after && size == cell.fresh.size()) return;
  const Pool pool = PoolOf(cell);
  Line& line = LineOf(state, pool, sweep);
  line.fresh = line.fresh + cell.fresh.size() - size;
  if (before) line.cells.erase({sweep, *before, cell.cell.index});
  if (after) line.cells.insert({sweep, *after, cell.cell.index});
  DropIfEmpty(state, pool, sweep);
}

}  // namespace

void AddWaiting(State& state, const MemberId& id) {
  CellState& cell = CellOf(state, id);
  state.placement_due = true;
  if (MemberOf(cell, id.replicate).attempt > 0) {
    LineOf(state, PoolOf(cell), id.sweep).again.insert(KeyOf(id));
  } else {
    ChangeFresh(state, id.sweep, cell, [&](ReplicateSet& fresh) { fresh.Insert(id.replicate); });
  }
}

void RemoveWaiting(State& state, const MemberId& id) {
  CellState& cell = CellOf(state, id);
  if (cell.fresh.Contains(id.replicate)) {
    return ChangeFresh(state, id.sweep, cell,
                       [&](ReplicateSet& fresh) { fresh.Erase(id.replicate); });
  }
  const Pool pool = PoolOf(cell);
  NF_CHECK(LineOf(state, pool, id.sweep).again.erase(KeyOf(id)) == 1);
  DropIfEmpty(state, pool, id.sweep);
}

void AddUntouched(State& state, SweepId sweep, CellState& cell) {
  state.placement_due = true;
  ChangeFresh(state, sweep, cell, [&](ReplicateSet& fresh) {
    uint32_t begin = 0;
    for (uint32_t i = 0; i < cell.members.size(); ++i) {
      if (!cell.members[i].touched) continue;
      fresh.InsertRange(begin, i);
      begin = i + 1;
    }
    fresh.InsertRange(begin, cell.cell.replicates);
  });
}

void AddReplicates(State& state, SweepId sweep, CellState& cell, uint32_t replicates) {
  NF_CHECK(cell.untouched == MemberState::kWaiting && replicates >= cell.cell.replicates);
  state.placement_due = true;
  const uint32_t begin = std::exchange(cell.cell.replicates, replicates);
  ChangeFresh(state, sweep, cell,
              [&](ReplicateSet& fresh) { fresh.InsertRange(begin, replicates); });
}

void RemoveUntouched(State& state, SweepId sweep, CellState& cell) {
  ChangeFresh(state, sweep, cell, [&](ReplicateSet& fresh) {
    fresh.Clear();
    for (uint32_t i = 0; i < cell.members.size(); ++i) {
      const Member& member = cell.members[i];
      const bool waits = member.touched && member.state == MemberState::kWaiting;
      if (waits && member.attempt == 0) fresh.Insert(i);
    }
  });
}

CellState MakeCell(const sweep::Sweep& sweep, sweep::Cell cell) {
  CellState made;
  const auto text = [&](std::string_view path) { return sweep::CellText(sweep, cell, path); };
  made.data_set = sweep::DataSetOf(text);
  made.own_identity = text(sweep::kDataIdentity);
  made.evaluation = sweep::EvaluationOf(text);
  made.schema = sweep.schema;
  made.devices = sweep::DevicesOf(sweep, cell);
  made.control = sweep::IsControl(cell.rules);
  made.cell = std::move(cell);
  return made;
}

std::string ExpectedIdentity(const SweepState& sweep, const CellState& cell) {
  if (sweep.content.kind == sweep::Kind::kMeasure) return "";  // It reads no data.
  if (!cell.own_identity.empty()) return cell.own_identity;
  const auto pinned = sweep.identities.find(cell.data_set);
  if (pinned != sweep.identities.end()) return pinned->second;
  const KnownDataset* known = FindDataset(cell.data_set);
  return known == nullptr ? "" : std::string(known->identity);
}

void CountInClass(State& state, const std::string& hardware, MemberState in, int64_t more) {
  if (more == 0) return;
  const auto counts = state.by_class.try_emplace(hardware).first;
  counts->second[static_cast<size_t>(in) - 1] += more;
  const bool none = std::ranges::all_of(counts->second, [](int64_t count) { return count == 0; });
  if (none) state.by_class.erase(counts);
}

void CountCell(State& state, const CellState& cell, int64_t sign) {
  for (const Member& member : cell.members) {
    if (member.touched) CountInClass(state, cell.cell.hardware, member.state, sign);
  }
  CountInClass(state, cell.cell.hardware, cell.untouched, sign * UntouchedCount(cell));
}

void SetState(Turn& turn, const MemberId& id, MemberState state) {
  Member& member = Touch(turn.state, id);
  const std::string& hardware = CellOf(turn.state, id).cell.hardware;
  CountInClass(turn.state, hardware, state, 1);
  CountInClass(turn.state, hardware, member.state, -1);
  SweepState& sweep = turn.state.sweeps.at(id.sweep);
  if (member.state == MemberState::kWaiting) RemoveWaiting(turn.state, id);
  for (const auto& [one, more] : {std::pair(member.state, false), std::pair(state, true)}) {
    if (one == MemberState::kLeased) {
      CountLeased(turn.state, sweep, CellOf(turn.state, id).cell.hardware, more);
    } else {
      sweep.counts.In(one) += more ? 1 : -1;
    }
  }
  member.state = state;
  if (state == MemberState::kWaiting) AddWaiting(turn.state, id);
  if (state == MemberState::kLeased) sweep.ended.Begin(turn.now);
  if (HasEnded(state) && state != MemberState::kCancelled) sweep.ended.Note(turn.now);
  turn.effects.changed.sweeps.insert(id.sweep);
  turn.Keep(SetMemberState{id, state, member.attempt, member.forgiven});
}

uint32_t SetUntouchedState(Turn& turn, SweepState& sweep, CellState& cell, MemberState state) {
  const uint32_t count = UntouchedCount(cell);
  if (count == 0 || cell.untouched == state) return 0;
  if (cell.untouched == MemberState::kWaiting) RemoveUntouched(turn.state, sweep.id, cell);
  sweep.counts.In(cell.untouched) -= count;
  sweep.counts.In(state) += count;
  CountInClass(turn.state, cell.cell.hardware, state, count);
  CountInClass(turn.state, cell.cell.hardware, cell.untouched, -int64_t{count});
  cell.untouched = state;
  if (state == MemberState::kWaiting) AddUntouched(turn.state, sweep.id, cell);
  turn.effects.changed.sweeps.insert(sweep.id);
  turn.Keep(SetUntouched{sweep.id, cell.cell.index, state});
  return count;
}

uint32_t UntouchedCount(const CellState& cell) {
  const auto touched =
      std::ranges::count_if(cell.members, [](const Member& member) { return member.touched; });
  return cell.cell.replicates - static_cast<uint32_t>(touched);
}

void SetProgress(Turn& turn, Lease& lease, int64_t step, int64_t step_count) {
  if (lease.step == step && lease.step_count == step_count) return;
  const auto share = [](const Lease& of) {
    if (of.step_count <= 0) return 0.0;
    const auto done = static_cast<double>(of.step) / static_cast<double>(of.step_count);
    return std::clamp(done, 0.0, 1.0);
  };
  SweepCounts& counts = turn.state.sweeps.at(lease.member.sweep).counts;
  counts.running -= share(lease);
  lease.step = step;
  lease.step_count = step_count;
  counts.running += share(lease);
  turn.effects.changed.sweeps.insert(lease.member.sweep);
  turn.effects.changed.leases.insert(lease.id);
}

std::string WorkerName(const State& state, WorkerId id) {
  if (const auto it = state.workers.find(id); it != state.workers.end()) return it->second.name;
  const auto gone = state.gone_workers.find(id);
  const bool has_name = gone != state.gone_workers.end() && !gone->second.name.empty();
  return has_name ? gone->second.name : "worker " + std::to_string(id.value);
}

const Worker* WorkerNamed(const State& state, const std::string& name) {
  const Worker* found = nullptr;
  for (const auto& [id, worker] : state.workers) {
    if (worker.name != name) continue;
    if (worker.session) return &worker;
    found = &worker;
  }
  return found;
}

std::string NameOf(const Worker& worker, const std::string& unit) {
  const bool several = std::ranges::any_of(
      worker.groups, [&](const SlotGroup& group) { return group.unit != unit; });
  return several ? unit + " of " + worker.name : worker.name;
}

std::string Count(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Text(LeaseId id) { return "lease " + std::to_string(id.value); }

}  // namespace noisefloor::scheduler
