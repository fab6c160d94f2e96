// Decides which worker trains which member, and what becomes of what workers report.
// States, transitions and invariants: README.md.
//
// Pure: no I/O, clock, thread or chance; deterministic given the calls so far. Not thread-safe:
// the loop's thread holds it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/event.h"
#include "coordinator/scheduler/rate.h"
#include "coordinator/scheduler/recovered.h"

namespace noisefloor::scheduler {

struct SmallState;
struct State;

struct Options {
  absl::Duration lease_ttl = absl::Seconds(15);
  // Leases granted, and leases that expire, in one Step: whoever else speaks is heard in between.
  uint32_t most_at_once = 500;
  // Nor are more granted, ended or changed in a Step that has made so many writes. With those of
  // the last one, a step of many makes at most this and a few.
  uint32_t most_writes = 500;
  uint32_t most_attempts = 2;     // Of a member, for causes that may be its own.
  uint32_t most_lost = 10;        // For causes that are not: lost_worker, interrupted, lost_device.
  uint32_t quarantine_after = 3;  // Failures of one unit in a row, on different members.
  absl::Duration quarantine = absl::Minutes(5);
  // A unit that was lost `quarantine_after` times in a row gets nothing for so long,
  // after each further time for twice as long, at most for a quarantine.
  absl::Duration first_rest = absl::Seconds(5);
  // A worker that has been gone for so long, and holds nothing, is forgotten; one that may still
  // bring the late result of a lease that it lost, after the longer time.
  absl::Duration forget_after = absl::Hours(24);
  absl::Duration forget_late_after = absl::Hours(24 * 30);
  // Members that no connected worker may run, because all that could have other data, fail after
  // this long.
  absl::Duration data_grace = absl::Minutes(1);
};

// A live lease, for progress and for uploads.
struct RunningAttempt {
  LeaseId lease;
  MemberId member;
  uint32_t attempt = 0;
  WorkerId worker;
  int64_t step = 0;
  int64_t step_count = 0;  // 0: not known yet.
};

// What the leases of a sweep have had of GPUs: each from its grant to its end, times those of its
// slot. What is declared counts as a GPU; processors do not count.
struct GpuUse {
  absl::Duration ended;  // By leases that have ended.
  uint32_t live = 0;     // GPUs that live leases have;
  absl::Duration begun;  // the times since 1970 at which they were granted, added up over these.

  absl::Duration At(absl::Time now) const {
    return ended + live * (now - absl::UnixEpoch()) - begun;
  }
  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

// How far a sweep is, and how it shares the fleet. Kept up to date by what changes it; nothing is
// counted for it.
struct SweepCounts {
  uint32_t cells = 0;
  uint32_t members = 0;
  std::array<uint32_t, 6> by_state{};  // In the order of MemberState; see In.
  uint32_t retries = 0;                // Attempts beyond each member's first.
  TrainTimes times;
  double running = 0;  // Sum over live leases of the share of their steps that is done.
  Sharing sharing;     // From here on as CountsOf tells it.
  Rate ended;
  uint32_t revision = 0;  // How often notes or tags were changed.
  GpuUse gpus;
  bool undecided = false;  // It has not ended, even if all its members have: see sweep::Until.

  uint32_t& In(MemberState state) { return by_state[static_cast<size_t>(state) - 1]; }
  uint32_t In(MemberState state) const { return by_state[static_cast<size_t>(state) - 1]; }
  friend bool operator==(const SweepCounts&, const SweepCounts&) = default;
};

// Members by hardware class ("": any) and state, in the order of MemberState.
using ClassCounts = std::map<std::string, std::array<int64_t, 6>>;

// Members that wait for the same; empty = any.
struct Need {
  std::string hardware;
  std::string stack;
  uint64_t members = 0;
  absl::Duration time;  // That a worker must live for, to end one of them; 0: any does.
};

// A unit of a worker that gets no leases for a while.
struct Pause {
  std::string unit;
  std::string reason;  // In words.
};

// A worker that is known, for lists and plans.
struct WorkerStatus {
  WorkerId worker;
  std::string name;
  bool connected = false;
  bool draining = false;
  // Null: it was not connected since the start.
  // shared: see WorkerConnected.
  std::shared_ptr<const Inventory> inventory;
  std::vector<SettingsSchemaRef> schemas;  // As in WorkerConnected.
  std::vector<Pause> paused;
  std::vector<MemberId> running;  // Of its leases, in their order.
};

class Scheduler {
 public:
  explicit Scheduler(Options options);
  // The state that the store read. Live leases get a whole `lease_ttl` from `now`, so that workers
  // can come back.
  static Scheduler Restore(Options options, const RecoveredState& recovered, absl::Time now);
  ~Scheduler();
  Scheduler(Scheduler&&) noexcept;
  Scheduler& operator=(Scheduler&&) noexcept;

  // `now` never goes back. Leases expire at a Tick and only there: post one at least once a second,
  // after what has arrived by then.
  [[nodiscard]] Effects Step(Event event, absl::Time now);

  // What is stepped from here on may be taken back, should it turn out that it cannot be kept: the
  // calls of people, that is all events up to TokensRevoked and ArtifactsCollected in Event. Costs
  // what is touched meanwhile, however much there is. Then one of the other two, before the next
  // Remember.
  void Remember();
  void TakeBack();  // All is as it was.
  void Forget();    // It stays as it is.

  // Why the member is where it is, in a sentence or two, and what would change it. That there is no
  // such member is said in words too.
  std::string Explain(const MemberId& member, absl::Time now) const;

  // Where the sweep stands, and what the worker of that name does, a line for each thing worth
  // knowing. Nothing: there is none.
  std::optional<std::string> ExplainSweep(SweepId sweep, absl::Time now) const;
  std::optional<std::string> ExplainWorker(const std::string& name, absl::Time now) const;

  // What the submission of this id was answered with; nothing when there was none.
  std::optional<AnswerSubmit> FindRequest(const std::string& request_id) const;
  std::optional<RunningAttempt> FindLease(LeaseId lease) const;  // Live ones only.
  std::optional<SweepCounts> CountsOf(SweepId sweep) const;      // Nothing: there is no such sweep.
  ClassCounts CountsByClass() const;  // Over all sweeps; kept up to date, not counted.
  // Of what could be leased now, had it a worker: neither paused nor over a limit. By queue.
  std::vector<Need> Needs() const;
  uint32_t WeightOf(const std::string& owner) const;  // 1 unless said.
  bool Knows(SessionId session) const;                // A worker's, not lost yet.
  std::vector<RunningAttempt> Running() const;        // By lease.
  std::vector<WorkerStatus> Workers() const;          // By number, as of the last Step.
  std::optional<WorkerStatus> FindWorker(WorkerId worker) const;
  // Names all that readers see: what Step would if all of it were new.
  Changed Everything() const;
  // What connected workers offer; sorted, each once. For Resolve and plans.
  std::vector<std::string> OfferedClasses() const;
  std::vector<std::string> OfferedStacks() const;

  // Workers, members and queues that were looked at so far to decide what to lease: the budget of a
  // life must not grow with fleet or queue.
  uint64_t looked_at() const;

  // Everything durable: equal to what the store would give back. Slow; for tests and checks.
  RecoveredState Durable() const;
  // Broken invariants in words; empty when all hold. Slow; for tests.
  std::vector<std::string> BrokenInvariants() const;

 private:
  explicit Scheduler(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
  std::unique_ptr<SmallState> before_;  // While it remembers.
};

}  // namespace noisefloor::scheduler
