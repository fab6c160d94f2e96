// What people ask for: submit, cancel, retry.
#include "coordinator/ingest/accept.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"

namespace noisefloor::scheduler {

namespace {

void AnswerKept(Turn& turn, uint64_t request, const SweepState& sweep, bool resumed) {
  turn.Tell(AnswerSubmit{request, sweep.id, sweep.counts.members, resumed, sweep.content.hardware});
}

// The sweep that was submitted under this request id; null: none.
const SweepState* OfRequest(const State& state, const std::string& request_id) {
  const auto found = state.sweeps_by_request.find(request_id);
  if (request_id.empty() || found == state.sweeps_by_request.end()) return nullptr;
  return &state.sweeps.at(found->second);
}

// The newest sweep of the same specification; null: none.
const SweepState* OfSpecification(const State& state, const std::string& specification_sha256) {
  const auto found = state.sweeps_by_hash.find(specification_sha256);
  return found == state.sweeps_by_hash.end() ? nullptr : &state.sweeps.at(found->second);
}

// Whether the submission says what the kept one said. The classes may be others: `hardware: all`
// means another fleet by now.
bool IsRepeat(const SweepState& kept, const SweepSubmitted& event) {
  if (kept.specification_sha256 == event.specification_sha256) return true;
  sweep::Sweep submitted = event.sweep;
  submitted.hardware = kept.content.hardware;
  return sweep::CanonicalText(submitted) == sweep::CanonicalText(kept.content);
}

void AnswerRequestAgain(Turn& turn, const SweepSubmitted& event, const SweepState& kept) {
  if (IsRepeat(kept, event)) return AnswerKept(turn, event.request, kept, true);
  turn.Tell(AnswerError{event.request, absl::StatusCode::kAlreadyExists,
                        "request_id " + ingest::ToStorableText(event.request_id, 100) +
                            " was used for " + ToText(kept.id) + " " + kept.content.name +
                            ", which is another sweep: a new sweep needs an id of its own"});
}

SweepState& AddSweep(State& state, const SweepSubmitted& event,
                     const std::vector<sweep::Cell>& cells) {
  SweepState sweep;
  sweep.id = state.last_sweep = SweepId{state.last_sweep.value + 1};
  sweep.content = event.sweep;
  sweep.specification_sha256 = event.specification_sha256;
  sweep.request_id = event.request_id;
  for (const sweep::Cell& cell : cells) {
    sweep.cells.push_back(MakeCell(event.sweep, cell));
    sweep.counts.members += cell.replicates;
  }
  sweep.counts.cells = static_cast<uint32_t>(cells.size());
  sweep.counts.In(MemberState::kWaiting) = sweep.counts.members;
  if (!event.request_id.empty()) state.sweeps_by_request[event.request_id] = sweep.id;
  state.sweeps_by_hash[event.specification_sha256] = sweep.id;
  return state.sweeps.emplace(sweep.id, std::move(sweep)).first->second;
}

template <typename Visit>
void EachTouched(SweepId sweep, CellState& cell, const Visit& visit) {
  for (uint32_t replicate = 0; replicate < cell.members.size(); ++replicate) {
    if (!cell.members[replicate].touched) continue;
    visit(MemberId{sweep, cell.cell.index, replicate}, cell.members[replicate]);
  }
}

uint32_t CancelCell(Turn& turn, SweepState& sweep, CellState& cell) {
  uint32_t count = 0;
  EachTouched(sweep.id, cell, [&](const MemberId& id, const Member& member) {
    if (HasEnded(member.state)) return;
    if (member.state == MemberState::kLeased) {
      const LeaseId lease = member.lease;
      Stop(turn, turn.state.leases.at(lease), "the sweep was cancelled");
      Drop(turn, lease, CauseClass::kInterrupted, "the sweep was cancelled");
    }
    SetState(turn, id, MemberState::kCancelled);
    ++count;
  });
  const bool waits = cell.untouched == MemberState::kWaiting;
  return count + (waits ? SetUntouchedState(turn, sweep, cell, MemberState::kCancelled) : 0);
}

uint32_t RetryCell(Turn& turn, SweepState& sweep, CellState& cell) {
  uint32_t count = 0;
  EachTouched(sweep.id, cell, [&](const MemberId& id, Member& member) {
    if (member.state != MemberState::kFailed && member.state != MemberState::kCancelled) return;
    member.forgiven = member.attempt;
    SetState(turn, id, MemberState::kWaiting);
    ++count;
  });
  return count + SetUntouchedState(turn, sweep, cell, MemberState::kWaiting);
}

SweepState* FindOrAnswer(Turn& turn, uint64_t request, SweepId id) {
  SweepState* sweep = FindSweep(turn.state, id);
  if (sweep == nullptr) {
    turn.Tell(AnswerError{request, absl::StatusCode::kNotFound, "there is no sweep " + ToText(id)});
  }
  return sweep;
}

// A stack that no result was built on may be mended or replaced. Returns how many cells may.
size_t UnpinUnbuilt(Turn& turn, SweepState& sweep) {
  size_t count = 0;
  for (const sweep::Cell& definition : sweep::Expand(sweep.content)) {
    const bool pinned = !sweep.cells[definition.index].fingerprint.empty();
    if (!pinned || !NothingBuiltOn(sweep.cells[definition.index])) continue;
    Unpin(turn, sweep, definition);
    ++count;
  }
  return count;
}

}  // namespace

void On(Turn& turn, const SweepSubmitted& event) {
  if (const SweepState* kept = OfRequest(turn.state, event.request_id)) {
    return AnswerRequestAgain(turn, event, *kept);
  }
  const SweepState* equal = OfSpecification(turn.state, event.specification_sha256);
  if (event.resume && equal != nullptr) return AnswerKept(turn, event.request, *equal, true);
  std::vector<sweep::Cell> cells = sweep::Expand(event.sweep);
  SweepState& sweep = AddSweep(turn.state, event, cells);
  turn.effects.changed.sweeps.insert(sweep.id);
  turn.Keep(KeepSweep{sweep.id, event.sweep, std::move(cells), event.specification_sha256,
                      event.request_id, turn.now, event.file, event.caller});
  turn.Happened(sweep.id, "sweep_submitted",
                ToText(sweep.id) + " " + event.sweep.name + ": " +
                    Count(sweep.counts.members, "member") + " in " +
                    Count(sweep.cells.size(), "cell"),
                event.caller);
  for (CellState& cell : sweep.cells) AddUntouched(turn.state, sweep.id, cell);
  AnswerKept(turn, event.request, sweep, false);
}

void On(Turn& turn, const SweepCancelled& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  uint32_t count = 0;
  for (CellState& cell : sweep->cells) count += CancelCell(turn, *sweep, cell);
  turn.Happened(event.sweep, "sweep_cancelled", Count(count, "member") + " cancelled",
                event.caller);
  turn.Tell(AnswerCount{event.request, count});
}

void On(Turn& turn, const SweepRetried& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  sweep->excluded.clear();
  sweep->without_data_since.reset();
  const size_t unpinned = UnpinUnbuilt(turn, *sweep);
  uint32_t count = 0;
  for (CellState& cell : sweep->cells) count += RetryCell(turn, *sweep, cell);
  turn.state.placement_due = true;
  turn.Happened(event.sweep, "sweep_retried",
                Count(count, "member") + " waiting again" +
                    (unpinned == 0 ? "" : ", " + Count(unpinned, "cell") + " no longer pinned"),
                event.caller);
  turn.Tell(AnswerCount{event.request, count});
}

}  // namespace noisefloor::scheduler
