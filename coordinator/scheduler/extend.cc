#include "coordinator/scheduler/extend.h"

#include <utility>

#include "common/base/check.h"
#include "coordinator/scheduler/handlers.h"

namespace noisefloor::scheduler {

namespace {

// Whether it is still what the extension was made of; if not, the request is answered.
bool IsStillWhatItWas(Turn& turn, RequestNumber request, const SweepState& sweep,
                      const SweepExtended& event) {
  const bool runs_again =
      !event.settled.empty() &&
      sweep.counts.In(MemberState::kWaiting) + sweep.counts.In(MemberState::kLeased) > 0;
  if (sweep.specification_sha256 == event.from_sha256 && !runs_again) return true;
  turn.Tell(AnswerError{request, absl::StatusCode::kAborted,
                        ToText(sweep.id) + " was extended by somebody else meanwhile; try again"});
  return false;
}

// Members that plan and class have more of from now on, where they were as few as `cell` has.
uint32_t ReplicatesAfter(const sweep::Sweep& content, const CellState& cell) {
  for (const sweep::NoisePlan& plan : content.plans) {
    if (plan.name == cell.cell.plan) return sweep::ReplicatesOf(content, plan);
  }
  return cell.cell.replicates;
}

void Rename(State& state, SweepState& sweep, const std::string& specification_sha256) {
  const auto before = state.sweeps_by_hash.find(sweep.specification_sha256);
  before->second.erase(sweep.id);
  if (before->second.empty()) state.sweeps_by_hash.erase(before);
  sweep.specification_sha256 = specification_sha256;
  state.sweeps_by_hash[specification_sha256].insert(sweep.id);
}

// Notes and tags may be others by now.
void TakeExtent(const sweep::Sweep& from, sweep::Sweep& content) {
  content.plans = from.plans;
  content.hardware = from.hardware;
  content.replicates = from.replicates;
  content.blocks = from.blocks;
  content.before = from.before;
  content.until = from.until;
}

void GiveRow(Turn& turn, const MemberId& id) {
  const Member& member = Touch(turn.state, id);
  turn.Keep(SetMemberState{id, member.state, member.attempt, member.forgiven});
}

void Widen(Turn& turn, SweepState& sweep, CellState& cell, uint32_t replicates) {
  if (replicates == cell.cell.replicates) return;
  if (cell.untouched != MemberState::kWaiting) {
    // All have rows, unless they failed together since.
    for (uint32_t i = 0; i < cell.cell.replicates; ++i) {
      if (!MemberOf(cell, i).touched) GiveRow(turn, {sweep.id, cell.cell.index, i});
    }
    cell.untouched = MemberState::kWaiting;
    turn.Keep(SetUntouched{sweep.id, cell.cell.index, MemberState::kWaiting});
  }
  sweep.counts.members += replicates - cell.cell.replicates;
  sweep.counts.In(MemberState::kWaiting) += replicates - cell.cell.replicates;
  CountInClass(turn.state, cell.cell.hardware, MemberState::kWaiting,
               int64_t{replicates} - cell.cell.replicates);
  AddReplicates(turn.state, sweep.id, cell, replicates);
}

void AddCell(Turn& turn, SweepState& sweep, sweep::Cell cell) {
  ++sweep.counts.cells;
  sweep.counts.members += cell.replicates;
  sweep.counts.In(MemberState::kWaiting) += cell.replicates;
  sweep.cells.push_back(MakeCell(sweep.content, std::move(cell)));
  CountCell(turn.state, sweep.cells.back(), 1);
  AddUntouched(turn.state, sweep.id, sweep.cells.back());
}

std::string HowItGrew(const SweepState& sweep, const SweepExtended& event, uint32_t members,
                      size_t cells) {
  const std::string name = ToText(sweep.id);
  if (members == 0) return name + " takes no more members by its `until`: " + event.settled;
  const std::string text = name + " extended by " + Count(members, "member") + ", " +
                           Count(cells, "new cell") + ": " + Count(sweep.counts.members, "member") +
                           " in " + Count(sweep.cells.size(), "cell");
  return event.settled.empty() ? text : text + ", by its `until`: " + event.settled;
}

}  // namespace

bool GiveRows(Turn& turn, const SweepState& sweep, Change& change, Budget& budget) {
  for (; change.cell < sweep.cells.size(); ++change.cell, change.replicate = 0) {
    if (budget.spent()) return false;
    budget.Look(1);
    const CellState& cell = sweep.cells[change.cell];
    if (cell.untouched == MemberState::kWaiting) continue;
    if (ReplicatesAfter(change.extension->content, cell) <= cell.cell.replicates) continue;
    for (; change.replicate < cell.cell.replicates; ++change.replicate) {
      if (budget.spent()) return false;
      budget.Look(1);
      const MemberId id = {sweep.id, change.cell, change.replicate};
      if (MemberOf(cell, change.replicate).touched) continue;
      GiveRow(turn, id);
      budget.Changed();
    }
  }
  return true;
}

void Grow(Turn& turn, SweepState& sweep, const Change& change) {
  const SweepExtended& event = *change.extension;
  if (!IsStillWhatItWas(turn, change.request, sweep, event)) return;
  const uint32_t members = sweep.counts.members;
  const size_t cells = sweep.cells.size();
  TakeExtent(event.content, sweep.content);
  Rename(turn.state, sweep, event.specification_sha256);
  std::vector<sweep::Cell> expanded = sweep::Expand(sweep.content);
  NF_CHECK(expanded.size() >= cells);
  // The rows of cells are wider before they are told of what waits in them.
  const std::vector<sweep::Cell> added(expanded.begin() + static_cast<std::ptrdiff_t>(cells),
                                       expanded.end());
  turn.Keep(
      KeepExtension{sweep.id, sweep.content, added, sweep.specification_sha256, ++sweep.revision});
  for (size_t i = 0; i < cells; ++i) {
    Widen(turn, sweep, sweep.cells[i], expanded[i].replicates);
  }
  for (const sweep::Cell& cell : added) AddCell(turn, sweep, cell);
  if (event.settled.empty()) {
    GoOn(turn, sweep);
  } else {
    // Nobody has pardoned the failures of the pilot.
    turn.effects.changed.sweeps.insert(sweep.id);
    StopAtMaxFailures(turn, sweep);
  }
  const uint32_t more = sweep.counts.members - members;
  turn.Happened(sweep.id, "sweep_extended", HowItGrew(sweep, event, more, added.size()),
                change.caller);
  turn.Tell(AnswerCount{change.request, more});
}

void On(Turn& turn, SweepExtended&& event) {
  const SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr || !IsStillWhatItWas(turn, event.request, *sweep, event)) return;
  Change change;
  change.kind = Change::Kind::kExtend;
  change.request = event.request;
  change.sweep = event.sweep;
  change.caller = event.caller;
  change.extension = std::make_shared<const SweepExtended>(std::move(event));
  BeginChange(turn, std::move(change));
}

}  // namespace noisefloor::scheduler
