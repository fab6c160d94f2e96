#include "coordinator/scheduler/deletion.h"

#include <algorithm>
#include <utility>

#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/past_leases.h"
#include "coordinator/sweep/infer.h"

namespace noisefloor::scheduler {

namespace {

// Members that are looked at, or forgotten, for each that would be changed in a piece.
constexpr uint32_t kForgottenAtOnce = 8;

// The first of those that are about members of it; empty: none is.
std::string WhoIsAbout(const State& state, SweepId id) {
  for (const auto& [other, sweep] : state.sweeps) {
    const sweep::Sweep& content = sweep.content;
    if (sweep::AboutSweep(content) != id) continue;
    return ToText(other) +
           (content.subject ? " replays " + ToText(content.subject->member)
                            : " infers with members of " + ToText(id)) +
           ": `delete " + ToText(other) + "` first";
  }
  return "";
}

// Why it cannot go; empty: it can.
std::string Obstacle(const State& state, const SweepState& sweep) {
  const std::string name = ToText(sweep.id);
  const uint32_t left =
      sweep.counts.In(MemberState::kWaiting) + sweep.counts.In(MemberState::kLeased);
  if (left > 0) {
    return Count(left, "member") + " of " + name + (left == 1 ? " waits or runs" : " wait or run") +
           ": only a sweep that has ended is deleted; `cancel " + name + "` ends it";
  }
  const bool changes = std::ranges::any_of(
      state.changes, [&](const Change& change) { return change.sweep == sweep.id; });
  if (changes) return "members of " + name + " are being changed; try again";
  return WhoIsAbout(state, sweep.id);
}

void ForgetMember(State& state, const MemberId& id, const Member& member) {
  state.accepted.erase(member.lease);
  ForgetAllPast(state, id);
}

}  // namespace

void ForgetRemoved(Turn& turn) {
  State& state = turn.state;
  uint32_t left = state.options.most_at_once * kForgottenAtOnce;
  while (!state.removed.empty() && left > 0) {
    Removed& removed = state.removed.front();
    if (removed.cell == removed.sweep.cells.size()) {
      state.removed.pop_front();
      continue;
    }
    CellState& cell = removed.sweep.cells[removed.cell];
    const std::string& hardware = cell.cell.hardware;
    for (; left > 0 && removed.replicate < cell.members.size(); --left, ++removed.replicate) {
      const Member& member = cell.members[removed.replicate];
      if (member.touched) CountInClass(state, hardware, member.state, -1);
      ForgetMember(state, {removed.sweep.id, removed.cell, removed.replicate}, member);
    }
    if (removed.replicate < cell.members.size() || left == 0) return;
    CountInClass(state, hardware, cell.untouched, -int64_t{UntouchedCount(cell)});
    cell = CellState{};
    ++removed.cell;
    removed.replicate = 0;
    --left;
  }
}

void On(Turn& turn, const SweepDeleted& event) {
  State& state = turn.state;
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  if (const std::string obstacle = Obstacle(state, *sweep); !obstacle.empty()) {
    return turn.Tell(AnswerError{event.request, absl::StatusCode::kFailedPrecondition, obstacle});
  }
  const uint32_t members = sweep->counts.members;
  turn.Keep(DeleteSweep{event.sweep, turn.now});
  turn.Happened(event.sweep, "sweep_deleted",
                ToText(event.sweep) + " " + sweep->content.name + " deleted, with " +
                    Count(members, "member"),
                event.caller);
  turn.effects.changed.sweeps.insert(event.sweep);
  if (!sweep->request_id.empty()) state.sweeps_by_request.erase(sweep->request_id);
  const auto equal = state.sweeps_by_hash.find(sweep->specification_sha256);
  equal->second.erase(event.sweep);
  if (equal->second.empty()) state.sweeps_by_hash.erase(equal);
  state.removed.push_back({std::move(*sweep)});
  state.sweeps.erase(event.sweep);
  turn.Tell(AnswerCount{event.request, members});
}

}  // namespace noisefloor::scheduler
