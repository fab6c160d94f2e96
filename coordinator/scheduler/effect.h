// What the scheduler wants done: writes to commit in one transaction, and only then sends, in
// order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "common/base/ids.h"
#include "common/base/member_state.h"
#include "coordinator/ingest/outcome.h"
#include "coordinator/scheduler/event.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::scheduler {

// How a sweep shares the fleet, and where people look for it.
struct Sharing {
  std::string owner;          // Who submitted it; "" = not known. Never changes.
  int32_t priority = 0;       // Higher ones go first.
  bool paused = false;        // None of its members gets a lease; running ones finish.
  uint32_t max_failures = 0;  // When so many have failed, those that wait are cancelled; 0: never.
  bool archived = false;      // Left out of lists. Of sweeps that have ended.
  // Failed members that no longer count: those that had when people last let more of it wait.
  uint32_t pardoned = 0;
  // So many members may run at once on these hardware classes; none is 0.
  std::map<std::string, uint32_t> limits = {};
  // Its part of what its owner gets, against the owner's other sweeps; never 0.
  uint32_t weight = 1;
  // When its attempts have had so many hours of GPUs, no more of it begins; 0: no bound.
  double gpu_hours = 0;
  friend bool operator==(const Sharing&, const Sharing&) = default;
};

// ---- Writes. Applying one twice changes nothing. `at` is wall time.

struct KeepSweep {
  SweepId sweep;
  sweep::Sweep content;
  std::vector<sweep::Cell> cells;  // All their members wait: none has a row yet.
  std::string specification_sha256;
  std::string request_id;
  absl::Time at;
  std::string file;  // As submitted; "" = none.
  Sharing sharing = {};
};
struct KeepSharing {
  SweepId sweep;
  Sharing sharing;  // Of which the owner stays what it was.
};
// What an owner of sweeps gets against other owners.
struct KeepShare {
  std::string owner;
  uint32_t weight = 1;  // 1: as everybody whose weight nobody has changed.
};
// It is larger: what it has more is untouched and waits.
struct KeepExtension {
  SweepId sweep;
  sweep::Sweep content;
  std::vector<sweep::Cell> cells;  // New ones.
  std::string specification_sha256;
  uint32_t revision = 0;  // As in KeepNotes.
};
// Nobody sees it any more, and its number is not used again. Its rows may go later.
struct DeleteSweep {
  SweepId sweep;
  absl::Time at;
};
// Notes and tags are others.
struct KeepNotes {
  SweepId sweep;
  sweep::Sweep content;
  uint32_t revision = 0;  // How often they were changed, with this time.
};
struct PinCell {
  SweepId sweep;
  uint32_t cell = 0;
  std::string hardware;
  std::string stack;
  std::string fingerprint;  // "" takes a pin back; hardware and stack are the definition's again.
  std::string build;
};
// What the members of the cell are given from now on. The cell may have others from before.
struct KeepSpecification {
  SweepId sweep;
  uint32_t cell = 0;
  std::string text;  // Of a SpecificationTemplate.
};
struct PinIdentity {
  SweepId sweep;
  std::string data_set;
  std::string identity;
};
// The settings that the trainers of a worker have. May be kept already.
struct KeepSchema {
  SettingsSchemaRef schema;  // shared: immutable.
};
// May be kept already: what was kept first stays.
struct KeepSoftware {
  Software software;
};
struct KeepWorker {
  WorkerId worker;
  std::string name;
  uint64_t identity = 0;
  std::string inventory;  // JSON.
  std::string version;
  absl::Time seen;
};
// The last sign of life, about once an hour and of one that is gone.
struct KeepSeen {
  WorkerId worker;
  absl::Time seen;
};
// What people have taken out of use.
struct KeepWorkerUse {
  WorkerId worker;
  bool drained = false;
  std::set<std::string> quarantined;  // Devices; "" = all that it has.
};
// It has gone for good: what it did stays under its number, and it comes back as another.
struct ForgetWorker {
  WorkerId worker;
};
struct GrantLease {
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  WorkerId worker;
  std::string specification;  // Canonical JSON, from the last KeepSpecification of its cell.
  absl::Time at;
  uint32_t slot = 0;  // Of the worker.
  std::string unit;   // The device of that slot: see UnitOf.
  uint32_t gpus = 0;  // Of that slot, or what is declared; of processors 0.
};
struct DropLease {
  LeaseId lease;
  CauseClass cause = CauseClass::kLostWorker;
  std::string reason;
  absl::Time at;
  bool used = true;  // False: no worker was heard of it since the start; its GPUs do not count.
};
struct KeepRecords {
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  ingest::RecordBatch batch;
};
struct KeepOutcome {
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  ingest::AttemptOutcome outcome;
  bool accepted = false;
  std::string reason;  // Why not accepted.
  absl::Time at;
};
struct SetMemberState {
  MemberId member;
  MemberState state = MemberState::kWaiting;
  uint32_t attempt = 0;   // Last one; 0 before the first.
  uint32_t forgiven = 0;  // Attempts up to this one no longer count against the budget (retry).
};
// The members of the cell that nothing has happened to: those without a SetMemberState.
struct SetUntouched {
  SweepId sweep;
  uint32_t cell = 0;
  MemberState state = MemberState::kWaiting;  // Or failed, or cancelled.
};
struct AppendEvent {
  std::optional<SweepId> sweep;
  std::optional<MemberId> member;
  std::string kind;  // "submitted", "leased", "done", "refused", "quarantined", ...
  std::string text;  // For people.
  absl::Time at;
  EventId number;           // Rises for ever. A number that is kept already is the same event.
  std::string caller = "";  // Who asked for it; "" = nobody, or not known.
};
struct KeepToken {
  access::TokenRecord token;
};
struct RevokeToken {
  uint64_t token = 0;
  absl::Time at;
};
// As it is from now on; likewise the next.
struct KeepPool {
  fleet::PoolRecord pool;
};
struct KeepLaunch {
  fleet::LaunchRecord launch;
};
// It is no more; what is told of it and its launches stays.
struct DropPool {
  uint64_t pool = 0;
  absl::Time at;
};
// Their files are no longer kept. Each is there once, named as in its KeepOutcome.
struct CollectArtifacts {
  std::vector<CollectedArtifact> artifacts;
  absl::Time at;
};
using Write =
    std::variant<KeepSweep, KeepSharing, KeepShare, KeepExtension, DeleteSweep, KeepNotes, PinCell,
                 KeepSpecification, PinIdentity, KeepSchema, KeepSoftware, KeepWorker, KeepSeen,
                 KeepWorkerUse, ForgetWorker, GrantLease, DropLease, KeepRecords, KeepOutcome,
                 SetMemberState, SetUntouched, AppendEvent, KeepToken, RevokeToken, KeepPool,
                 KeepLaunch, DropPool, CollectArtifacts>;

// ---- Sends.

struct SendWelcome {
  SessionId session;
  WorkerId worker;
};
struct SendStart {
  SessionId session;
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  std::string specification;  // Canonical JSON.
  bool write_evaluation_set = false;
  uint32_t slot = 0;
  std::string weights_sha256 = {};  // Of an inference; else "".
};
struct SendStop {
  SessionId session;
  LeaseId lease;
  std::string reason;
};
struct SendRecordsKept {
  SessionId session;
  LeaseId lease;
  uint64_t sequence = 0;  // Highest without a gap.
};
struct SendSettled {
  SessionId session;
  LeaseId lease;
  bool accepted = false;
  std::string reason;
};
// Ends a session: refused at the door, or replaced by a newer one.
struct CloseSession {
  SessionId session;
  std::string reason;
};
struct AnswerSubmit {
  RequestNumber request = 0;
  SweepId sweep;
  uint32_t members = 0;
  bool resumed = false;
  std::vector<std::string> hardware;
};
struct AnswerCount {  // Of all other calls: members that it changed, added or removed, or tokens.
  RequestNumber request = 0;
  uint32_t members = 0;
};
struct AnswerError {
  RequestNumber request = 0;
  absl::StatusCode code = absl::StatusCode::kNotFound;
  std::string message;
};
using Send = std::variant<SendWelcome, SendStart, SendStop, SendRecordsKept, SendSettled,
                          CloseSession, AnswerSubmit, AnswerCount, AnswerError>;

// What readers see otherwise once the writes are kept. Ask the scheduler what it is now.
struct Changed {
  std::set<SweepId> sweeps;
  std::set<WorkerId> workers;
  std::set<LeaseId> leases;
  std::set<std::string> owners;  // Their weights.
  bool offers = false;           // What connected workers offer.
};

struct Effects {
  std::vector<Write> writes;
  std::vector<Send> sends;
  Changed changed;
  bool more = false;  // More is due now than one Step does: step a Continue soon.
};

}  // namespace noisefloor::scheduler
