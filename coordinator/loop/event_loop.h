// The one thread that owns the truth: takes what has arrived, steps the scheduler, commits all
// writes in one transaction, and only then sends.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/mailbox.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/figures/loop_figures.h"
#include "coordinator/loop/live_board.h"
#include "coordinator/loop/worker_links.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/store.h"

namespace noisefloor {

struct EventLoopOptions {
  absl::Duration tick = absl::Milliseconds(500);
  absl::Duration storage_retry = absl::Seconds(2);  // Between tries when nothing can be kept.
  absl::Duration news_interval = absl::Milliseconds(100);  // Between two calls of `changed`.
  absl::Duration moved_interval = absl::Seconds(1);        // The same, of mere progress.
  // What arrives is dealt with in pieces: one ends when it has written so many rows, and the next
  // begins with what was left. A step more goes over it, of Options::most_writes of the scheduler.
  size_t rows_at_once = 3000;
  uint32_t rows_removed_at_once = 1000;  // Of deleted sweeps, in one transaction, after a piece.
  size_t mailbox_limit = 100000;
  size_t call_limit = 1000;  // Calls that wait at one time.
};

// A call of a person; its request number is the loop's to give.
using CallEvent =
    std::variant<scheduler::SweepSubmitted, scheduler::SweepCancelled, scheduler::SweepRetried,
                 scheduler::SweepUpdated, scheduler::SweepExtended, scheduler::SweepDeleted,
                 scheduler::ShareUpdated, scheduler::WorkerUpdated, scheduler::TokenAdded,
                 scheduler::TokensRevoked, scheduler::FleetDecided, scheduler::ArtifactsCollected>;

// What a call came to. The status is OK only when what was asked is on disk.
struct CallResult {
  absl::Status status = absl::OkStatus();
  SweepId sweep = {};
  uint32_t members = 0;
  bool resumed = false;
  std::vector<std::string> hardware = {};
};
using CallDone = std::function<void(const CallResult&)>;

// Why a mailbox has not taken something: its owner is stopping, or it is full.
absl::Status NotTaken(bool stopping);

// OK while somebody waits for what a call comes to; else why nobody does. Any thread; never blocks.
using CallAwaited = std::function<absl::Status()>;

// Thread-safe. Start and Stop by one owner, once each. Callbacks run on the loop's thread (after
// Stop: on the caller's) and must not block.
//
// When the store is out of space or fails to read or write, the loop is read-only: it keeps what it
// decided for workers and could not commit, tries again, and goes on where it was. Calls are
// decided apart from that: one whose writes cannot be kept is taken back whole and refused at once,
// and so is each later one that needs a write. The board stays that of what is on disk, and says
// why. It reads on meanwhile, so that workers whose heartbeats are taken let their trainers run:
// what they say again by themselves (heartbeats, records, ends) is dropped, the rest is held,
// bounded by the open sessions and the live leases. After any other failure of the store `fatal` is
// called and must not return: the store is the truth, and what is in memory is ahead of it.
class EventLoop {
 public:
  struct Parts {
    Store& store;
    WorkerLinks& links;
    const Clock& clock;
    std::function<void(const std::set<SweepId>&)> changed;  // These are on disk otherwise now.
    std::function<void(const absl::Status&)> fatal;
    // The board says otherwise now whether anything can be kept. May be empty.
    std::function<void()> storage_changed = nullptr;
    // Whether what was kept is still where it was; asked at each tick and before anything is said.
    // Not OK is fatal. May be empty.
    std::function<absl::Status()> check = nullptr;
    figures::LoopFigures* figures = nullptr;  // Kept up to date when there is one; outlives it.
  };

  // `now` must be the time that `scheduler` was restored at, from the store as it is.
  EventLoop(Parts parts, EventLoopOptions options, scheduler::Scheduler scheduler, absl::Time now);
  ~EventLoop();

  void Start();
  // What has arrived is dealt with, kept and answered; then the thread ends.
  void Stop();

  // An event of a worker's stream. False after Stop, and where more waits than is taken; the end of
  // a session is taken all the same. `counted`: Consumed will be told of it.
  bool Post(SessionId session, scheduler::Event event, bool counted);
  bool stopping() const { return mailbox_.closed(); }

  // Unavailable when stopping; of what was asked of many members a part may be done by then.
  // ResourceExhausted when too much waits, or when it could not be kept: then nothing of it
  // is, nor will be. What `awaited` says, when it is not OK before the call is decided: then it is
  // not done. Empty: it is awaited whatever happens. Nothing of it is called after `done`.
  void Call(CallEvent event, const CallDone& done, CallAwaited awaited = nullptr);

  // What the submission of this id came to; NotFound when there was none. For a repeat that could
  // not be resolved again, because the fleet has changed since. Refused where nothing is taken.
  void FindRequest(const std::string& request_id, const CallDone& done);

  // Why the member is where it is, as decided last (not all of it need be on disk yet). Waits for
  // no commit: only for one event that is being decided.
  std::string Explain(const MemberId& member) const ABSL_LOCKS_EXCLUDED(deciding_);

  // Where the sweep stands, what the worker of that name does: likewise. Nothing: there is none.
  std::optional<std::string> ExplainSweep(SweepId sweep) const ABSL_LOCKS_EXCLUDED(deciding_);
  std::optional<std::string> ExplainWorker(const std::string& name) const
      ABSL_LOCKS_EXCLUDED(deciding_);

  // As the scheduler counts them, over all sweeps; likewise.
  scheduler::ClassCounts CountsByClass() const ABSL_LOCKS_EXCLUDED(deciding_);
  std::vector<scheduler::Need> Needs() const ABSL_LOCKS_EXCLUDED(deciding_);
  // The time that the scheduler goes by, and that is kept with what it decides. Steady, but a tick
  // takes it over a sleep of the machine, after which leases have what they had before.
  absl::Time Now() const;
  // What waits to be dealt with at this moment.
  size_t waiting() const { return mailbox_.size() + taken_; }

  // What only this process knows, as of the last commit. Reading it never waits for the loop.
  const LiveBoard& live() const { return board_; }

 private:
  struct FromSession {
    SessionId session;
    scheduler::Event event;
    bool counted = true;
  };
  struct CallItem {
    CallEvent event;
    CallDone done;
    CallAwaited awaited;
  };
  struct Question {
    std::function<void()> answer;  // Reads the scheduler; called after the commit.
  };
  using Item = std::variant<FromSession, CallItem, Question>;

  void Run();
  absl::Duration UntilNextDeadline() const;
  void TakeFromMailbox();
  void Handle();
  void HandleTimed();
  void DealWithArrived();
  void Take(FromSession item);
  void Hold(FromSession item);
  bool IsWorthHolding(const FromSession& item) const;
  void Take(CallItem item);
  void Take(Question question);
  void Step(scheduler::Event event);
  scheduler::Effects DecideOn(scheduler::Event event) ABSL_LOCKS_EXCLUDED(deciding_);
  void TickWhenDue();
  void NoteSleep();
  void RetryWhenDue();
  void Commit();
  absl::Status KeepDecided();
  absl::Status SettleDoubt();
  void DecideCalls();
  std::vector<CallItem> AwaitedCalls();
  size_t Decide(std::span<const CallItem> calls);
  absl::Status Keep(std::span<const scheduler::Write> writes);
  absl::Status ApplyTimed(std::span<const scheduler::Write> writes);
  void CheckStore();
  void RemoveDeleted(bool idle);
  void StorageFailed(const absl::Status& why);
  void Tell(const scheduler::Effects& effects);
  void TellAll();
  void TellConsumed();
  std::string NameOf(WorkerId worker) const;
  void Answer(const CallDone& done, const CallResult& result);
  void Answer(scheduler::RequestNumber number, const CallResult& result);
  void RefusePending();
  void Publish(const scheduler::Changed& changed);
  void PublishProblem();
  void TellNewsWhenDue();

  Parts parts_;
  const EventLoopOptions options_;
  Mailbox<Item> mailbox_;
  std::atomic<size_t> waiting_calls_{0};

  // Held while something is decided, and by whoever asks why. Not GUARDED_BY: only the loop's
  // thread changes the scheduler, so it reads it without.
  mutable Mutex deciding_;

  // The loop's thread only, but for Explain.
  scheduler::Scheduler scheduler_;
  const absl::Time start_time_;
  const absl::Duration start_steady_;
  const absl::Duration start_slept_;
  std::atomic<int64_t> slept_ns_{0};  // Since then, as of the last tick; any thread reads it.
  absl::Duration next_tick_;
  absl::Duration next_retry_;
  absl::Duration next_news_;
  absl::Duration next_moved_;
  absl::Status storage_;           // Not OK: read-only, and why.
  StepNumber last_step_ = 0;       // That is on disk, as far as this process was told.
  bool took_back_ = false;         // The next one was tried for calls that were taken back then.
  scheduler::Effects effects_;     // Decided for workers, not kept yet, or not all of it:
  size_t kept_writes_ = 0;         // its first ones are on disk,
  size_t tried_writes_ = 0;        // and up to here they were tried as one step.
  std::deque<Item> arrived_;       // Taken out of the mailbox, not dealt with yet.
  std::atomic<size_t> taken_{0};   // How many they are; any thread reads it.
  size_t rows_ = 0;                // Written by this piece, so far.
  std::vector<FromSession> held_;  // Arrived while read-only.
  std::vector<CallItem> calls_;    // To decide after the commit.
  // Decided, and not answered yet: what was asked of many members takes several steps. Not the
  // whole call: a sweep file has up to 1 MiB.
  std::map<scheduler::RequestNumber, CallDone> pending_;
  scheduler::RequestNumber last_request_ = 0;
  std::vector<Question> questions_;       // To answer after the commit.
  std::map<SessionId, size_t> consumed_;  // To tell after the commit, also one that failed.
  bool more_ = false;                     // The scheduler has more to do than one step did.
  bool removing_ = true;                  // Rows of deleted sweeps may be left.
  bool removal_failed_ = false;           // The last time.
  absl::Duration next_removal_;           // Then some go though there is more to do.
  std::set<SweepId> news_;                // To tell those who watch, when it is time.
  std::set<SweepId> moved_;               // The same, of mere progress.

  LiveBoard board_;
  std::thread thread_;
};

}  // namespace noisefloor
