// What people ask for: submit, cancel, retry.
#include "coordinator/ingest/accept.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/selection.h"
#include "coordinator/sweep/extend.h"
#include "coordinator/sweep/infer.h"

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
  return found == state.sweeps_by_hash.end() ? nullptr : &state.sweeps.at(*found->second.rbegin());
}

// Whether the submission says what the kept one said when it was submitted, or says since it was
// extended. The classes may be others: `hardware: all` means another fleet by now.
bool IsRepeat(const SweepState& kept, const SweepSubmitted& event) {
  if (kept.specification_sha256 == event.specification_sha256) return true;
  sweep::Sweep submitted = event.sweep;
  const sweep::Sweep first = sweep::AsSubmitted(kept.content);
  submitted.hardware = first.hardware;
  return sweep::CanonicalText(submitted) == sweep::CanonicalText(first);
}

void AnswerRequestAgain(Turn& turn, const SweepSubmitted& event, const SweepState& kept) {
  if (IsRepeat(kept, event)) return AnswerKept(turn, event.request, kept, true);
  turn.Tell(AnswerError{event.request, absl::StatusCode::kAlreadyExists,
                        "request_id " + ingest::ToStorableText(event.request_id, 100) +
                            " was used for " + ToText(kept.id) + " " + kept.content.name +
                            ", which is another sweep: a new sweep needs an id of its own"});
}

// "--replicates=20 --hardware=a,b --plan=algo"
std::string OptionsOf(const sweep::Extension& extension) {
  std::string text;
  const auto add = [&](const std::string& name, const auto& values) {
    std::string joined;
    for (const std::string& value : values) joined += (joined.empty() ? "" : ",") + value;
    if (!joined.empty()) text += " --" + name + "=" + joined;
  };
  const auto number = [](uint32_t count) {
    return std::set<std::string>{count == 0 ? "" : std::to_string(count)};
  };
  add("replicates", number(extension.replicates));
  add("blocks", number(extension.blocks));
  add("hardware", extension.hardware);
  add("plan", extension.plans);
  return text;
}

// The kept sweep is the same training, and smaller than what is submitted.
std::string HowToExtend(const SweepState& kept, const std::vector<sweep::Extension>& lacking) {
  std::string commands;
  for (const sweep::Extension& one : lacking) {
    commands +=
        (commands.empty() ? "`" : " and `") + ("extend " + ToText(kept.id)) + OptionsOf(one) + "`";
  }
  return commands + (lacking.size() == 1 ? " adds what" : " add what") + " is new to it";
}

// The newest sweep in lists that differs from the submitted one in nothing but replicates, blocks
// or classes; null: there is none.
const SweepState* OfOtherExtent(const State& state, const sweep::Sweep& submitted) {
  for (auto it = state.sweeps.rbegin(); it != state.sweeps.rend(); ++it) {
    const SweepState& kept = it->second;
    if (!kept.sharing.archived && sweep::DifferOnlyInExtent(kept.content, submitted)) return &kept;
  }
  return nullptr;
}

// What a person submits under the name of a kept sweep of the same training is that sweep or, where
// it is larger, an extension of it: that is answered. True: it was.
bool IsOtherwiseKept(Turn& turn, const SweepSubmitted& event) {
  if (!event.resume && event.file.empty()) return false;
  const SweepState* kept = OfOtherExtent(turn.state, event.sweep);
  if (kept == nullptr) return false;
  const auto lacking = sweep::Lacking(kept->content, event.sweep);
  if (event.resume && lacking && lacking->empty()) {
    AnswerKept(turn, event.request, *kept, true);
    return true;
  }
  const std::string name = ToText(kept->id) + " " + kept->content.name;
  std::string what;
  if (!lacking) {
    what = name + " is the same training, on other hardware classes";
  } else if (lacking->empty()) {
    what = name + " has all of this and more: `submit --resume` and `run` go on with it";
  } else {
    what = name + " is the same training with other replicates, blocks or hardware classes: " +
           HowToExtend(*kept, *lacking);
  }
  turn.Tell(AnswerError{event.request, absl::StatusCode::kFailedPrecondition,
                        what + "; a sweep of its own needs another name"});
  return true;
}

SweepState& AddSweep(State& state, const SweepSubmitted& event,
                     const std::vector<sweep::Cell>& cells) {
  SweepState sweep;
  sweep.id = state.last_sweep = SweepId{state.last_sweep.value + 1};
  sweep.content = event.sweep;
  sweep.specification_sha256 = event.specification_sha256;
  sweep.request_id = event.request_id;
  sweep.sharing.owner = event.caller;
  sweep.sharing.priority = event.priority;
  sweep.sharing.weight = event.weight;
  sweep.sharing.max_failures = event.max_failures;
  sweep.sharing.gpu_hours = event.gpu_hours;
  sweep.sharing.limits = event.limits;
  SetOwner(state, sweep);
  for (const sweep::Cell& cell : cells) {
    sweep.cells.push_back(MakeCell(event.sweep, cell));
    sweep.counts.members += cell.replicates;
    CountCell(state, sweep.cells.back(), 1);
  }
  sweep.counts.cells = static_cast<uint32_t>(cells.size());
  sweep.counts.In(MemberState::kWaiting) = sweep.counts.members;
  if (!event.request_id.empty()) state.sweeps_by_request[event.request_id] = sweep.id;
  state.sweeps_by_hash[event.specification_sha256].insert(sweep.id);
  return state.sweeps.emplace(sweep.id, std::move(sweep)).first->second;
}

// A stack that no result was built on may be mended or replaced. Returns how many cells may.
size_t UnpinUnbuilt(Turn& turn, SweepState& sweep, const Selection& selection) {
  size_t count = 0;
  for (const sweep::Cell& definition : sweep::Expand(sweep.content)) {
    if (!IsOfCell(selection, sweep.cells[definition.index])) continue;
    const bool pinned = !sweep.cells[definition.index].fingerprint.empty();
    if (!pinned || !NothingBuiltOn(sweep.cells[definition.index])) continue;
    Unpin(turn, sweep, definition);
    ++count;
  }
  return count;
}

// Whether it can be asked of the sweep; if not, the request is answered.
bool CheckOrAnswer(Turn& turn, RequestNumber request, const SweepState& sweep,
                   const Selection& selection) {
  std::string fault = FaultOf(sweep, selection);
  if (fault.empty()) return true;
  turn.Tell(AnswerError{request, absl::StatusCode::kInvalidArgument, std::move(fault)});
  return false;
}

}  // namespace

SweepState* FindOrAnswer(Turn& turn, RequestNumber request, SweepId id) {
  SweepState* sweep = FindSweep(turn.state, id);
  if (sweep == nullptr) {
    turn.Tell(AnswerError{request, absl::StatusCode::kNotFound, "there is no sweep " + ToText(id)});
  }
  return sweep;
}

void On(Turn& turn, const SweepSubmitted& event) {
  if (const SweepState* kept = OfRequest(turn.state, event.request_id)) {
    return AnswerRequestAgain(turn, event, *kept);
  }
  const SweepState* equal = OfSpecification(turn.state, event.specification_sha256);
  if (event.resume && equal != nullptr) return AnswerKept(turn, event.request, *equal, true);
  if (equal == nullptr && IsOtherwiseKept(turn, event)) return;
  if (const auto of = sweep::AboutSweep(event.sweep); of && FindSweep(turn.state, *of) == nullptr) {
    const std::string what =
        event.sweep.subject ? ToText(event.sweep.subject->member) : ToText(*of);
    return turn.Tell(
        AnswerError{event.request, absl::StatusCode::kNotFound, what + " was deleted meanwhile"});
  }
  std::vector<sweep::Cell> cells = sweep::Expand(event.sweep);
  SweepState& sweep = AddSweep(turn.state, event, cells);
  turn.effects.changed.sweeps.insert(sweep.id);
  turn.Keep(KeepSweep{sweep.id, event.sweep, std::move(cells), event.specification_sha256,
                      event.request_id, turn.now, event.file, sweep.sharing});
  turn.Happened(sweep.id, "sweep_submitted",
                ToText(sweep.id) + " " + event.sweep.name + ": " +
                    Count(sweep.counts.members, "member") + " in " +
                    Count(sweep.cells.size(), "cell"),
                event.caller);
  for (CellState& cell : sweep.cells) AddUntouched(turn.state, sweep.id, cell);
  AnswerKept(turn, event.request, sweep, false);
}

void On(Turn& turn, const SweepCancelled& event) {
  const SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  if (!CheckOrAnswer(turn, event.request, *sweep, event.selection)) return;
  Change change;
  change.kind = Change::Kind::kCancel;
  change.request = event.request;
  change.sweep = event.sweep;
  change.caller = event.caller;
  change.selection = event.selection;
  change.reason = event.selection == Selection{} ? "the sweep was cancelled" : "it was cancelled";
  BeginChange(turn, std::move(change));
}

void On(Turn& turn, const SweepRetried& event) {
  SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  if (!CheckOrAnswer(turn, event.request, *sweep, event.selection)) return;
  sweep->excluded.clear();
  sweep->without_data_since.reset();
  Change change;
  change.kind = Change::Kind::kRetry;
  change.request = event.request;
  change.sweep = event.sweep;
  change.caller = event.caller;
  change.selection = event.selection;
  change.unpinned = UnpinUnbuilt(turn, *sweep, event.selection);
  BeginChange(turn, std::move(change));
}

}  // namespace noisefloor::scheduler
