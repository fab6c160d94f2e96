// What people ask for: submit, cancel, retry.
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"

namespace noisefloor::scheduler {

namespace {

void AnswerKept(Turn& turn, uint64_t request, const SweepState& sweep, bool resumed) {
  turn.Tell(AnswerSubmit{request, sweep.id, static_cast<uint32_t>(sweep.members.size()), resumed,
                         sweep.content.hardware});
}

// The sweep that this submission is a repeat of; null: it is new.
const SweepState* Earlier(const State& state, const SweepSubmitted& event) {
  const auto by_request = state.sweeps_by_request.find(event.request_id);
  if (!event.request_id.empty() && by_request != state.sweeps_by_request.end()) {
    return &state.sweeps.at(by_request->second);
  }
  const auto by_hash = state.sweeps_by_hash.find(event.specification_sha256);
  if (event.resume && by_hash != state.sweeps_by_hash.end()) {
    return &state.sweeps.at(by_hash->second);
  }
  return nullptr;
}

SweepState& AddSweep(State& state, const SweepSubmitted& event,
                     const std::vector<sweep::Cell>& cells) {
  SweepState sweep;
  sweep.id = state.last_sweep = SweepId{state.last_sweep.value + 1};
  sweep.content = event.sweep;
  sweep.specification_sha256 = event.specification_sha256;
  sweep.request_id = event.request_id;
  for (const sweep::Cell& cell : cells) sweep.cells.push_back(MakeCell(event.sweep, cell));
  sweep.members.resize(cells.size() * event.sweep.replicates);
  if (!event.request_id.empty()) state.sweeps_by_request[event.request_id] = sweep.id;
  state.sweeps_by_hash[event.specification_sha256] = sweep.id;
  return state.sweeps.emplace(sweep.id, std::move(sweep)).first->second;
}

template <typename Visit>
void EachMember(SweepState& sweep, const Visit& visit) {
  const uint32_t replicates = sweep.content.replicates;
  for (uint32_t cell = 0; cell < sweep.cells.size(); ++cell) {
    for (uint32_t replicate = 0; replicate < replicates; ++replicate) {
      visit(MemberId{sweep.id, cell, replicate},
            sweep.members[size_t{cell} * replicates + replicate]);
    }
  }
}

SweepState* FindOrAnswer(Turn& turn, uint64_t request, SweepId id) {
  SweepState* sweep = FindSweep(turn.state, id);
  if (sweep == nullptr) {
    turn.Tell(AnswerError{request, absl::StatusCode::kNotFound, "there is no sweep " + ToText(id)});
  }
  return sweep;
}

}  // namespace

void On(Turn& turn, const SweepSubmitted& event) {
  if (const SweepState* earlier = Earlier(turn.state, event)) {
    return AnswerKept(turn, event.request, *earlier, true);
  }
  std::vector<sweep::Cell> cells = sweep::Expand(event.sweep);
  SweepState& sweep = AddSweep(turn.state, event, cells);
  turn.Keep(KeepSweep{sweep.id, event.sweep, std::move(cells), event.specification_sha256,
                      event.request_id, turn.now});
  turn.Happened(sweep.id, "sweep_submitted",
                ToText(sweep.id) + " " + event.sweep.name + ": " +
                    Count(sweep.members.size(), "member") + " in " +
                    Count(sweep.cells.size(), "cell"));
  EachMember(sweep, [&](const MemberId& id, Member&) { AddWaiting(turn.state, id); });
  AnswerKept(turn, event.request, sweep, false);
}

void On(Turn& turn, const SweepCancelled& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  uint32_t count = 0;
  EachMember(*sweep, [&](const MemberId& id, Member& member) {
    if (HasEnded(member.state)) return;
    if (member.state == MemberState::kLeased) {
      const LeaseId lease = member.lease;
      Stop(turn, turn.state.leases.at(lease), "the sweep was cancelled");
      Drop(turn, lease, CauseClass::kInterrupted, "the sweep was cancelled");
    }
    SetState(turn, id, MemberState::kCancelled);
    ++count;
  });
  turn.Happened(event.sweep, "sweep_cancelled", Count(count, "member") + " cancelled");
  turn.Tell(AnswerCount{event.request, count});
}

void On(Turn& turn, const SweepRetried& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  sweep->excluded.clear();
  sweep->without_data_since.reset();
  uint32_t count = 0;
  EachMember(*sweep, [&](const MemberId& id, Member& member) {
    if (member.state != MemberState::kFailed && member.state != MemberState::kCancelled) return;
    member.forgiven = member.attempt;
    SetState(turn, id, MemberState::kWaiting);
    ++count;
  });
  turn.state.placement_due = true;
  turn.Happened(event.sweep, "sweep_retried", Count(count, "member") + " waiting again");
  turn.Tell(AnswerCount{event.request, count});
}

}  // namespace noisefloor::scheduler
