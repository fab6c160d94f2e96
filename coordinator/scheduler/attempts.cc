// What workers report of their attempts: hello, records, end.
#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "fmt/format.h"

#include "common/base/sha256_text.h"
#include "coordinator/ingest/accept.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/lifetime.h"
#include "coordinator/scheduler/past_leases.h"
#include "coordinator/scheduler/quarantine.h"

namespace noisefloor::scheduler {

namespace {

// An end that counts record batches which never come is asked again so often.
constexpr uint32_t kMostIncompleteEnds = 20;

// The live lease, when the session is its worker's; a sign of life renews it. Null: it is dead.
Lease* FindLive(Turn& turn, SessionId session, LeaseId id) {
  const Worker* worker = WorkerOf(turn.state, session);
  if (worker == nullptr || !worker->leases.contains(id)) return nullptr;
  Lease& lease = turn.state.leases.at(id);
  lease.confirmed = true;
  Renew(turn, lease);
  return &lease;
}

// False: the worker read other data than this sweep's. Then it is refused by name, and gets nothing
// of this sweep any more.
bool AcceptIdentity(Turn& turn, const Lease& lease, const std::string& reported) {
  if (reported.empty()) return true;
  const std::string identity = ingest::ToStorableText(reported, ingest::kMaxNameBytes);
  SweepState& sweep = turn.state.sweeps.at(lease.member.sweep);
  const CellState& cell = sweep.cells[lease.member.cell];
  const std::string expected = ExpectedIdentity(sweep, cell);
  const bool is_hash = IsSha256(identity);  // It goes into specifications.
  if (!is_hash || (!expected.empty() && expected != identity)) {
    const std::string reason = WorkerName(turn.state, lease.worker) + " has other data" +
                               (cell.data_set.empty() ? " on " + cell.cell.hardware +
                                                            " (do they depend on its arithmetic?)"
                                                      : " of " + cell.data_set) +
                               ": identity " + identity + ", expected " +
                               (expected.empty() ? "64 lower-case hexadecimal digits" : expected);
    sweep.excluded[lease.worker] = reason;
    turn.Happened(lease.member, "worker_refused", reason);
    return false;
  }
  if (sweep.identities.emplace(cell.data_set, identity).second) {
    turn.Keep(PinIdentity{sweep.id, cell.data_set, identity});
  }
  return true;
}

std::string ExclusionReason(const State& state, const Lease& lease) {
  return state.sweeps.at(lease.member.sweep).excluded.at(lease.worker);
}

void KeepEnd(Turn& turn, const PastLease& lease, const ingest::AttemptOutcome& outcome,
             bool accepted, const std::string& reason) {
  turn.Keep(KeepOutcome{lease.lease, lease.member, lease.attempt, outcome, accepted,
                        ingest::ToStorableText(reason, 1000), turn.now});
}

// What it left behind of files that are here: others could be named by it, and missed.
ingest::AttemptOutcome WithFilesThatAreHere(const AttemptFinished& event) {
  ingest::AttemptOutcome outcome = event.outcome;
  const std::set<std::string_view> missing(event.missing_artifacts.begin(),
                                           event.missing_artifacts.end());
  std::erase_if(outcome.artifacts,
                [&](const Artifact& artifact) { return missing.contains(artifact.sha256); });
  return outcome;
}

// Ends the lease without an accepted result, keeps what was reported, and lets the member go on.
void Refuse(Turn& turn, const AttemptFinished& event, CauseClass cause, const std::string& reason) {
  const MemberId member = turn.state.leases.at(event.lease).member;
  Lose(turn, event.lease, cause, reason);
  const PastLease past = turn.state.past_leases.at(event.lease);
  SetHeard(turn.state, event.lease);
  KeepEnd(turn, past, WithFilesThatAreHere(event), false,
          reason.empty() ? std::string(Name(cause)) : reason);
  turn.Tell(SendSettled{event.session, event.lease, false,
                        reason.empty() ? std::string(Name(cause)) : reason});
  CountFailure(turn, past.worker, past.unit, member, cause);
}

// The result of a lease that was lost meanwhile: refused by name, its hashes kept as a free check.
void RefuseLate(Turn& turn, const AttemptFinished& event, const PastLease& past) {
  const std::string reason = Text(past.lease) + " had ended before: " + past.reason;
  turn.Tell(SendSettled{event.session, event.lease, false, reason});
  if (past.has_outcome) return;
  KeepEnd(turn, past, WithFilesThatAreHere(event), false, reason);
  turn.Happened(past.member, "late_result",
                ToText(past.member) + " attempt " + std::to_string(past.attempt) + " from " +
                    WorkerName(turn.state, past.worker) + " came late; its hashes are kept");
  SetHeard(turn.state, event.lease);  // What `past` refers to may go.
}

// As tables show it.
std::string AccuracyText(double fraction) {
  return std::isfinite(fraction) ? fmt::format("{:.2f} %", 100 * fraction) : NumberToText(fraction);
}

std::string DoneText(const State& state, const Lease& lease,
                     const ingest::AttemptOutcome& outcome) {
  const bool diverged = outcome.kind == Outcome::Kind::kDiverged;
  std::string text = ToText(lease.member) + (diverged ? " diverged on " : " done on ") +
                     WorkerName(state, lease.worker);
  const auto top1 = outcome.metrics.find("top1");
  if (top1 != outcome.metrics.end()) text += ": top-1 " + AccuracyText(top1->second);
  return text;
}

// What a trainer that is not ours says may be no time at all.
void CountTime(SweepState& sweep, const std::string& hardware, double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) return;
  TrainTimes& times = sweep.times[hardware];
  for (TrainTimes* counted : {&times, &sweep.counts.times}) {
    counted->sum += seconds;
    ++counted->count;
  }
}

void Accept(Turn& turn, const AttemptFinished& event, const Lease& lease) {
  const bool diverged = event.outcome.kind == Outcome::Kind::kDiverged;
  const Lease ended = lease;
  SweepState& sweep = turn.state.sweeps.at(ended.member.sweep);
  NoteLength(sweep.cells[ended.member.cell], absl::Seconds(event.outcome.train_seconds));
  Drop(turn, ended.id, CauseClass::kNone, "");
  KeepEnd(turn,
          {.lease = ended.id,
           .member = ended.member,
           .attempt = ended.attempt,
           .worker = ended.worker,
           .reason = "",
           .unit = ""},
          event.outcome, true, "");
  SetState(turn, ended.member, diverged ? MemberState::kDiverged : MemberState::kDone);
  ForgetPast(turn.state, ended.member);
  turn.Happened(ended.member, diverged ? "member_diverged" : "member_done",
                DoneText(turn.state, ended, event.outcome));
  const bool has_evaluation_set = std::ranges::any_of(
      event.outcome.artifacts,
      [](const Artifact& artifact) { return artifact.kind == "evaluation_images"; });
  if (has_evaluation_set) {
    sweep.cells_with_evaluation_set.insert(ended.member.cell);
    sweep.kept_evaluations.insert(sweep.cells[ended.member.cell].evaluation);
  }
  CountTime(sweep, sweep.cells[ended.member.cell].cell.hardware, event.outcome.train_seconds);
  CountSuccess(turn.state, ended.worker, ended.unit);
  turn.Tell(SendSettled{event.session, ended.id, true, ""});
}

// The lease is live: its end is judged.
void Judge(Turn& turn, const AttemptFinished& event, Lease& lease) {
  using Kind = ingest::OutcomeVerdict::Kind;
  if (!AcceptIdentity(turn, lease, event.outcome.data_identity)) {
    return Refuse(turn, event, CauseClass::kInterrupted, ExclusionReason(turn.state, lease));
  }
  const ingest::OutcomeVerdict verdict = ingest::JudgeOutcome(
      event.outcome,
      {.stored_batches = lease.sequence, .missing_artifacts = event.missing_artifacts});
  switch (verdict.kind) {
    case Kind::kAccept: return Accept(turn, event, lease);
    case Kind::kRefuse: return Refuse(turn, event, CauseClass::kBug, verdict.reason);
    case Kind::kFailure: {
      const CauseClass cause = event.outcome.cause;
      return Refuse(turn, event, cause == CauseClass::kNone ? CauseClass::kBug : cause,
                    ingest::ToStorableText(event.outcome.message, 1000));
    }
    case Kind::kWait:
      if (++lease.incomplete_ends > kMostIncompleteEnds) {
        return Refuse(turn, event, CauseClass::kBug, "never complete: " + verdict.reason);
      }
      return turn.Tell(SendRecordsKept{event.session, event.lease, lease.sequence});
  }
}

}  // namespace

void On(Turn& turn, const AttemptStarted& event) {
  const Lease* lease = FindLive(turn, event.session, event.lease);
  if (lease == nullptr) return AnswerDeadLease(turn, event.session, event.lease);
  NoteResumes(turn.state, *lease, event.resumes);
  if (AcceptIdentity(turn, *lease, event.data_identity)) return;
  const std::string reason = ExclusionReason(turn.state, *lease);
  Stop(turn, *lease, reason);
  Lose(turn, event.lease, CauseClass::kInterrupted, reason);
}

void On(Turn& turn, RecordsArrived&& event) {
  using Kind = ingest::BatchVerdict::Kind;
  Lease* lease = FindLive(turn, event.session, event.lease);
  if (lease == nullptr) return AnswerDeadLease(turn, event.session, event.lease);
  ingest::RecordBatch& batch = event.batch;
  const ingest::BatchVerdict verdict = ingest::JudgeBatch(batch, lease->sequence);
  if (verdict.kind == Kind::kBroken) {
    Stop(turn, *lease, verdict.reason);
    Lose(turn, event.lease, CauseClass::kBug, verdict.reason);
    const PastLease& past = turn.state.past_leases.at(event.lease);
    return CountFailure(turn, past.worker, past.unit, past.member, CauseClass::kBug);
  }
  if (verdict.kind == Kind::kKeep) {
    lease->sequence = batch.sequence;
    lease->incomplete_ends = 0;  // They do come, if slowly.
    turn.Keep(KeepRecords{lease->id, lease->member, lease->attempt, std::move(batch)});
  }
  turn.Tell(SendRecordsKept{event.session, event.lease, lease->sequence});
}

void On(Turn& turn, AttemptFinished&& event) {
  if (Lease* lease = FindLive(turn, event.session, event.lease)) return Judge(turn, event, *lease);
  const Worker* worker = WorkerOf(turn.state, event.session);
  const auto past = turn.state.past_leases.find(event.lease);
  if (turn.state.accepted.contains(event.lease)) {
    turn.Tell(SendSettled{event.session, event.lease, true, ""});
  } else if (worker != nullptr && past != turn.state.past_leases.end() &&
             past->second.worker == worker->id &&
             turn.state.sweeps.contains(past->second.member.sweep)) {  // Else it was deleted.
    RefuseLate(turn, event, past->second);
  } else {
    turn.Tell(SendSettled{event.session, event.lease, false,
                          Text(event.lease) + " is not this worker's"});
  }
}

}  // namespace noisefloor::scheduler
