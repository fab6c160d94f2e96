#include "coordinator/scheduler/leases.h"

#include "common/base/check.h"
#include "coordinator/scheduler/gpu_use.h"
#include "coordinator/scheduler/lifetime.h"
#include "coordinator/scheduler/past_leases.h"
#include "coordinator/scheduler/patience.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/retry.h"
#include "coordinator/sweep/infer.h"

namespace noisefloor::scheduler {

namespace {

// The waiting members of the cell, which was in the pool `before`, follow it into its pool.
void MoveWaiting(State& state, const SweepState& sweep, const CellState& cell, const Pool& before) {
  if (FindLine(state, before, sweep.id) == nullptr) return;
  Line& left = LineOf(state, before, sweep.id);
  Line moved;
  if (const auto first = cell.fresh.first()) {
    moved.cells.insert({sweep.id, *first, cell.cell.index});
    left.cells.erase(*moved.cells.begin());
    moved.fresh = cell.fresh.size();
    left.fresh -= moved.fresh;
  }
  for (uint32_t replicate = 0; replicate < cell.members.size(); ++replicate) {
    const WaitKey key = {sweep.id, replicate, cell.cell.index};
    if (left.again.erase(key) == 1) moved.again.insert(key);
  }
  DropIfEmpty(state, before, sweep.id);
  if (moved.empty()) return;
  Line& line = LineOf(state, PoolOf(cell), sweep.id);
  line.cells.merge(moved.cells);
  line.again.merge(moved.again);
  line.fresh += moved.fresh;
}

void SetPin(Turn& turn, SweepState& sweep, PinCell pin) {
  CellState& cell = sweep.cells[pin.cell];
  const Pool before = PoolOf(cell);
  if (cell.cell.hardware != pin.hardware) {
    CountCell(turn.state, cell, -1);
    cell.cell.hardware = pin.hardware;
    CountCell(turn.state, cell, 1);
  }
  cell.cell.stack = pin.stack;
  cell.fingerprint = pin.fingerprint;
  cell.build = pin.build;
  cell.specification.reset();
  MoveWaiting(turn.state, sweep, cell, before);
  turn.Keep(std::move(pin));
}

// The first lease of a cell chooses what was left open; the other members of the cell follow.
void Pin(Turn& turn, SweepState& sweep, const CellState& cell, const Inventory::Offer& offer) {
  SetPin(turn, sweep,
         {sweep.id, cell.cell.index, offer.hardware_class, offer.stack, offer.fingerprint,
          offer.build});
}

// What the members of the cell, which is pinned, are given now.
const SpecificationTemplate& SpecificationOf(Turn& turn, const SweepState& sweep, CellState& cell) {
  const std::string identity = ExpectedIdentity(sweep, cell);
  if (!cell.specification || cell.specification_identity != identity) {
    cell.specification = std::make_shared<const SpecificationTemplate>(
        sweep::TemplateOf(sweep.content, cell.cell, identity));
    cell.specification_identity = identity;
    turn.Keep(KeepSpecification{sweep.id, cell.cell.index, cell.specification->text()});
  }
  return *cell.specification;
}

// The first attempt with an evaluation set writes its images; others while that one lives do not.
bool AskForEvaluationSet(State& state, SweepState& sweep, const CellState& cell, LeaseId lease) {
  // What it is about has them already; a measurement has none.
  if (sweep::AboutSweep(sweep.content)) return false;
  if (sweep.content.kind == sweep::Kind::kMeasure) return false;
  if (sweep.kept_evaluations.contains(cell.evaluation)) return false;
  LeaseId& asked = sweep.evaluation_leases[cell.evaluation];
  if (state.leases.contains(asked)) return false;
  asked = lease;
  return true;
}

// A cell is not pinned to a trainer's build, or a repaired trainer would leave its members waiting
// for ever. That its members no longer ran on one build is said at once, and again by its study.
std::string LeasedText(const Lease& lease, const CellState& cell, const Worker& worker,
                       const Inventory::Offer& offer) {
  std::string text =
      ToText(lease.member) + " attempt " + std::to_string(lease.attempt) + " on " + worker.name;
  if (offer.build == cell.build) return text;
  return text + ", with another trainer build than its cell began with";
}

}  // namespace

void Grant(Turn& turn, const MemberId& id, const Place& place) {
  State& state = turn.state;
  Worker& worker = state.workers.at(place.worker->id);
  SlotGroup& group = worker.groups[place.group - worker.groups.data()];
  SweepState& sweep = state.sweeps.at(id.sweep);
  CellState& cell = sweep.cells[id.cell];
  Member& member = Touch(state, id);
  const Inventory::Offer* offer = OfferFor(place, PoolOf(cell));
  NF_CHECK(member.state == MemberState::kWaiting && offer != nullptr);
  if (cell.fingerprint.empty()) Pin(turn, sweep, cell, *offer);
  EndWait(state, id.sweep, id.cell);

  Lease lease;
  lease.id = state.last_lease = LeaseId{state.last_lease.value + 1};
  lease.member = id;
  lease.attempt = ++member.attempt;
  lease.worker = worker.id;
  lease.unit = group.unit;
  lease.slot = TakeSlot(state, worker, group, lease);
  lease.specification = std::make_shared<const std::string>(
      SpecificationOf(turn, sweep, cell).ForReplicate(id.replicate));
  lease.granted = AsKept(turn.now);
  lease.gpus = GpusOf(*worker.inventory, *lease.slot, offer->hardware_class);
  BeginUse(sweep, lease);
  lease.expires = turn.now + state.options.lease_ttl;
  lease.write_evaluation_set = AskForEvaluationSet(state, sweep, cell, lease.id);

  turn.Keep(GrantLease{lease.id, id, lease.attempt, worker.id, *lease.specification, turn.now,
                       *lease.slot, lease.unit, lease.gpus});
  if (lease.attempt > 1) ++sweep.counts.retries;
  SetState(turn, id, MemberState::kLeased);
  member.lease = lease.id;
  turn.Happened(id, "member_leased", LeasedText(lease, cell, worker, *offer));
  turn.effects.changed.workers.insert(worker.id);
  turn.effects.changed.leases.insert(lease.id);
  ++cell.leases_by_unit[lease.unit];
  state.expiry.emplace(lease.expires, lease.id);
  SendStartAgain(turn, lease, *worker.session);
  state.leases.emplace(lease.id, std::move(lease));
}

void Unpin(Turn& turn, SweepState& sweep, const sweep::Cell& definition) {
  NF_CHECK(NothingBuiltOn(sweep.cells[definition.index]));
  SetPin(turn, sweep, {sweep.id, definition.index, definition.hardware, definition.stack, "", ""});
}

void SendStartAgain(Turn& turn, const Lease& lease, SessionId session) {
  const sweep::Sweep& content = turn.state.sweeps.at(lease.member.sweep).content;
  const sweep::GivenWeights* given = sweep::WeightsOf(content, lease.member);
  turn.Tell(SendStart{session, lease.id, lease.member, lease.attempt, *lease.specification,
                      lease.write_evaluation_set, lease.slot.value_or(0),
                      given == nullptr ? "" : given->sha256});
}

void Renew(Turn& turn, Lease& lease) {
  turn.state.expiry.erase({lease.expires, lease.id});
  lease.expires = turn.now + turn.state.options.lease_ttl;
  turn.state.expiry.emplace(lease.expires, lease.id);
}

void Drop(Turn& turn, LeaseId id, CauseClass cause, const std::string& reason) {
  State& state = turn.state;
  const auto it = state.leases.find(id);
  NF_CHECK(it != state.leases.end());
  SetProgress(turn, it->second, 0, 0);
  turn.effects.changed.leases.insert(id);
  turn.effects.changed.workers.insert(it->second.worker);
  const Lease lease = std::move(it->second);
  state.leases.erase(it);
  state.expiry.erase({lease.expires, id});
  Worker& worker = state.workers.at(lease.worker);
  FreeSlot(state, worker, lease);
  EndUse(state.sweeps.at(lease.member.sweep), lease, turn.now);
  if (cause == CauseClass::kNone) {
    state.accepted.insert(id);
  } else {
    Touch(state, lease.member).lease = LeaseId{};
    AddPast(state,
            {id, lease.member, lease.attempt, lease.worker, cause, reason, false, lease.unit});
  }
  state.placement_due = true;
  turn.Keep(DropLease{id, cause, reason, turn.now, lease.confirmed});
}

void Lose(Turn& turn, LeaseId id, CauseClass cause, const std::string& reason) {
  const Lease& lease = turn.state.leases.at(id);
  const MemberId member = lease.member;
  if (cause == CauseClass::kInterrupted || cause == CauseClass::kLostWorker) {
    NoteCutOff(turn.state, lease, turn.now);
  }
  Drop(turn, id, cause, reason);
  RetryOrFail(turn, member, cause, reason);
}

void Stop(Turn& turn, const Lease& lease, const std::string& reason) {
  const Worker& worker = turn.state.workers.at(lease.worker);
  if (worker.session) turn.Tell(SendStop{*worker.session, lease.id, reason});
}

}  // namespace noisefloor::scheduler
