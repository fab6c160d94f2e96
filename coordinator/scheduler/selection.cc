#include "coordinator/scheduler/selection.h"

#include <algorithm>
#include <tuple>

#include "coordinator/scheduler/extend.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/past_leases.h"

namespace noisefloor::scheduler {

namespace {

template <typename T>
bool Asks(const std::set<T>& wanted, const T& has) {
  return wanted.empty() || wanted.contains(has);
}

}  // namespace

bool IsOfCell(const Selection& selection, const CellState& cell) {
  return Asks(selection.cells, cell.cell.index) && Asks(selection.plans, cell.cell.plan) &&
         Asks(selection.hardware, cell.cell.hardware) && Asks(selection.stacks, cell.cell.stack) &&
         HasAxes(selection, cell.cell.axes);
}

namespace {

// Who has the member, or had it last; empty: nobody yet.
std::string LastWorker(const State& state, const MemberId& id, const Member& member) {
  const auto live = state.leases.find(member.lease);
  if (live != state.leases.end()) return WorkerName(state, live->second.worker);
  const auto past = state.past_by_member.find(id);
  if (past == state.past_by_member.end()) return "";
  return WorkerName(state, state.past_leases.at(past->second.back()).worker);
}

// Whether such a change is for members in this state.
bool IsFor(Change::Kind kind, MemberState state) {
  switch (kind) {
    case Change::Kind::kCancel: return !HasEnded(state);
    case Change::Kind::kRetry:
      return state == MemberState::kFailed || state == MemberState::kCancelled;
    case Change::Kind::kExtend: return false;  // See extend.cc.
  }
  return false;
}

bool IsSelected(const State& state, const Change& change, const MemberId& id,
                const Member& member) {
  return IsFor(change.kind, member.state) && Asks(change.selection.states, member.state) &&
         (change.selection.workers.empty() ||
          change.selection.workers.contains(LastWorker(state, id, member)));
}

MemberState StateAfter(Change::Kind kind) {
  return kind == Change::Kind::kCancel ? MemberState::kCancelled : MemberState::kWaiting;
}

void ChangeMember(Turn& turn, Change& change, const MemberId& id) {
  const Member member = *FindMember(turn.state, id);
  if (member.state == MemberState::kLeased) {
    Stop(turn, turn.state.leases.at(member.lease), change.reason);
    Drop(turn, member.lease, CauseClass::kInterrupted, change.reason);
  }
  if (change.kind == Change::Kind::kRetry) Touch(turn.state, id).forgiven = member.attempt;
  SetState(turn, id, StateAfter(change.kind));
  ForgetPast(turn.state, id);
  ++change.count;
}

// Each of these goes on where it was, and returns true at its end.

bool ChangeUntouched(Turn& turn, SweepState& sweep, Change& change, Budget& budget) {
  for (; change.cell < sweep.cells.size(); ++change.cell) {
    if (budget.spent()) return false;
    CellState& cell = sweep.cells[change.cell];
    budget.Look(1);
    const bool selected = IsFor(change.kind, cell.untouched) && IsOfCell(change.selection, cell) &&
                          Asks(change.selection.states, cell.untouched);
    if (!selected) continue;
    budget.Look(cell.members.size());
    const uint32_t changed = SetUntouchedState(turn, sweep, cell, StateAfter(change.kind));
    if (changed > 0) budget.Changed();
    change.count += changed;
  }
  return true;
}

bool ChangeTouched(Turn& turn, SweepState& sweep, Change& change, Budget& budget) {
  for (; change.cell < sweep.cells.size(); ++change.cell, change.replicate = 0) {
    const CellState& cell = sweep.cells[change.cell];
    budget.Look(1);
    if (!IsOfCell(change.selection, cell)) continue;
    for (; change.replicate < cell.members.size(); ++change.replicate) {
      if (budget.spent()) return false;
      const MemberId id = {sweep.id, change.cell, change.replicate};
      const Member& member = cell.members[change.replicate];
      budget.Look(1);
      if (!member.touched || !IsSelected(turn.state, change, id, member)) continue;
      ChangeMember(turn, change, id);
      budget.Changed();
    }
  }
  return true;
}

bool ChangeNamed(Turn& turn, const SweepState& sweep, Change& change, Budget& budget) {
  const auto& names = change.selection.members;
  for (auto it = names.lower_bound({change.cell, change.replicate}); it != names.end(); ++it) {
    std::tie(change.cell, change.replicate) = *it;
    if (budget.spent()) return false;
    budget.Look(1);
    const CellState& cell = sweep.cells[it->first];
    const MemberId id = {sweep.id, it->first, it->second};
    if (!IsOfCell(change.selection, cell)) continue;
    if (!IsSelected(turn.state, change, id, MemberOf(cell, it->second))) continue;
    ChangeMember(turn, change, id);
    budget.Changed();
  }
  return true;
}

bool DoPiece(Turn& turn, SweepState& sweep, Change& change, Budget& budget) {
  if (change.kind == Change::Kind::kExtend) return GiveRows(turn, sweep, change, budget);
  if (!change.selection.members.empty()) return ChangeNamed(turn, sweep, change, budget);
  // Nobody has or had one of those that nothing has happened to.
  if (!change.untouched_done && change.selection.workers.empty()) {
    if (!ChangeUntouched(turn, sweep, change, budget)) return false;
    change.cell = 0;
  }
  change.untouched_done = true;
  return ChangeTouched(turn, sweep, change, budget);
}

}  // namespace

void GoOn(Turn& turn, SweepState& sweep) {
  const Sharing before = sweep.sharing;
  sweep.sharing.archived = false;
  sweep.sharing.pardoned = sweep.counts.In(MemberState::kFailed);
  turn.effects.changed.sweeps.insert(sweep.id);
  if (sweep.sharing != before) turn.Keep(KeepSharing{sweep.id, sweep.sharing});
}

namespace {

void Finish(Turn& turn, const Change& change) {
  const std::string members = Count(change.count, "member");
  const std::string whose = change.selection == Selection{} ? "sweep" : "members";
  switch (change.kind) {
    case Change::Kind::kCancel:
      turn.Happened(
          change.sweep, whose + "_cancelled",
          members + " cancelled" + (change.request == 0 ? ": " + change.reason : std::string()),
          change.caller);
      break;
    case Change::Kind::kRetry:
      turn.state.placement_due = true;
      if (change.count > 0) GoOn(turn, turn.state.sweeps.at(change.sweep));
      turn.Happened(
          change.sweep, whose + "_retried",
          members + " waiting again" +
              (change.unpinned == 0 ? ""
                                    : ", " + Count(change.unpinned, "cell") + " no longer pinned"),
          change.caller);
      break;
    case Change::Kind::kExtend: return Grow(turn, turn.state.sweeps.at(change.sweep), change);
  }
  if (change.request != 0) turn.Tell(AnswerCount{change.request, change.count});
}

}  // namespace

std::string FaultOf(const SweepState& sweep, const Selection& selection) {
  SelectionCheck check(sweep.id, selection);
  for (const CellState& cell : sweep.cells) check.Add(cell.cell);
  return check.Fault();
}

uint32_t FailuresThatCount(const SweepState& sweep) {
  const uint32_t failed = sweep.counts.In(MemberState::kFailed);
  return failed - std::min(failed, sweep.sharing.pardoned);
}

namespace {

// Whether so many have failed that those that wait are not to be tried.
bool IsStopDue(const SweepState& sweep) {
  const uint32_t most = sweep.sharing.max_failures;
  return most != 0 && FailuresThatCount(sweep) >= most;
}

// What nobody asked for is done only as long as there is reason to.
bool IsDue(const State& state, const Change& change) {
  return change.request != 0 || IsStopDue(state.sweeps.at(change.sweep));
}

}  // namespace

void BeginChange(Turn& turn, Change change) {
  turn.state.changes.push_back(std::move(change));
  if (turn.state.changes.size() == 1) ContinueChanges(turn);
}

void ContinueChanges(Turn& turn) {
  std::deque<Change>& changes = turn.state.changes;
  Budget budget(turn.state.options.most_at_once);
  while (!changes.empty() && !budget.spent() && !turn.IsFull()) {
    Change& change = changes.front();
    if (!IsDue(turn.state, change)) {
      changes.pop_front();
      continue;
    }
    if (!DoPiece(turn, turn.state.sweeps.at(change.sweep), change, budget)) return;
    Finish(turn, change);
    changes.pop_front();
  }
}

void StopAtMaxFailures(Turn& turn, const SweepState& sweep) {
  if (!IsStopDue(sweep) || sweep.counts.In(MemberState::kWaiting) == 0) return;
  // One that a retry makes needless is dropped when its turn comes: see IsDue.
  const bool decided = std::ranges::any_of(turn.state.changes, [&](const Change& change) {
    return change.sweep == sweep.id && change.request == 0;
  });
  if (decided) return;
  Change change;
  change.sweep = sweep.id;
  change.selection.states = {MemberState::kWaiting};
  change.reason = Count(FailuresThatCount(sweep), "member") + " failed, and the sweep stops at " +
                  std::to_string(sweep.sharing.max_failures) + " (max-failures)";
  BeginChange(turn, std::move(change));
}

}  // namespace noisefloor::scheduler
