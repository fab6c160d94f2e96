// The one thread that owns the truth: takes what has arrived, steps the scheduler, commits all
// writes in one transaction, and only then sends.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
#include "coordinator/loop/live_view.h"
#include "coordinator/loop/worker_links.h"
#include "coordinator/scheduler/scheduler.h"
#include "coordinator/store/store.h"

namespace noisefloor {

struct EventLoopOptions {
  absl::Duration tick = absl::Milliseconds(500);
  absl::Duration storage_retry = absl::Seconds(2);  // Between tries when nothing can be kept.
  absl::Duration view_interval = absl::Seconds(1);  // Of progress in the live view.
  size_t mailbox_limit = 100000;
  size_t call_limit = 1000;  // Calls that wait at one time.
};

// A call of a person; its request number is the loop's to give.
using CallEvent =
    std::variant<scheduler::SweepSubmitted, scheduler::SweepCancelled, scheduler::SweepRetried>;

// What a call came to. The status is OK only when what was asked is on disk.
struct CallResult {
  absl::Status status = absl::OkStatus();
  SweepId sweep = {};
  uint32_t members = 0;
  bool resumed = false;
  std::vector<std::string> hardware = {};
};
using CallDone = std::function<void(const CallResult&)>;

// Thread-safe. Start and Stop by one owner, once each. Callbacks run on the loop's thread (after
// Stop: on the caller's) and must not block.
//
// When the store is out of space or fails to read or write, the loop is read-only: it keeps the
// effects that it could not commit, refuses calls by name, tries again, and goes on where it was.
// It reads on meanwhile, so that workers whose heartbeats are taken let their trainers run: what
// they say again by themselves (heartbeats, records, ends) is dropped, the rest is held, bounded by
// the open sessions and the live leases. After any other failure of the store `fatal` is called and
// must not return: the store is the truth, and what is in memory is ahead of it.
class EventLoop {
 public:
  struct Parts {
    Store& store;
    WorkerLinks& links;
    const Clock& clock;
    std::function<void(const std::set<SweepId>&)> changed;  // These are on disk otherwise now.
    std::function<void(const absl::Status&)> fatal;
  };

  // `now` must be the time that `scheduler` was restored at.
  EventLoop(Parts parts, EventLoopOptions options, scheduler::Scheduler scheduler, absl::Time now);
  ~EventLoop();

  void Start();
  // What has arrived is dealt with and kept; then the thread ends. Calls that could not be kept are
  // answered Unavailable.
  void Stop();

  // An event of a worker's stream. False only after Stop. `counted`: Consumed will be told of it.
  bool Post(SessionId session, scheduler::Event event, bool counted);

  // Unavailable when stopping, ResourceExhausted when too many calls wait or nothing can be kept.
  void Call(CallEvent event, const CallDone& done);

  // What the submission of this id came to; NotFound when there was none. For a repeat that could
  // not be resolved again, because the fleet has changed since.
  void FindRequest(const std::string& request_id, const CallDone& done);

  // Why the member is where it is; Unavailable after Stop.
  void Explain(MemberId member, const std::function<void(absl::StatusOr<std::string>)>& done);

  // Never null.
  // shared: readers keep the value that they took while the loop publishes newer ones.
  std::shared_ptr<const LiveView> live() const ABSL_LOCKS_EXCLUDED(view_mutex_);

 private:
  struct FromSession {
    SessionId session;
    scheduler::Event event;
    bool counted = true;
  };
  struct CallItem {
    CallEvent event;
    CallDone done;
  };
  struct Question {
    std::function<void()> answer;  // Reads the scheduler; called after the commit.
  };
  using Item = std::variant<FromSession, CallItem, Question>;

  void Run();
  absl::Duration UntilNextDeadline() const;
  void Handle(std::vector<Item> items);
  void Take(FromSession item);
  void Hold(FromSession item);
  bool IsWorthHolding(const FromSession& item) const;
  void Take(CallItem item);
  void Take(Question question);
  void Step(const scheduler::Event& event);
  void TickWhenDue();
  void RetryWhenDue();
  void Commit();
  void TellAll();
  void Answer(scheduler::RequestNumber request, const CallResult& result);
  void PublishWhenDue();
  void AnswerAllUnavailable();
  absl::Time Now() const;

  Parts parts_;
  const EventLoopOptions options_;
  Mailbox<Item> mailbox_;
  std::atomic<size_t> waiting_calls_{0};

  // The loop's thread only.
  scheduler::Scheduler scheduler_;
  const absl::Time start_time_;
  const absl::Duration start_steady_;
  absl::Duration next_tick_;
  absl::Duration next_view_;
  absl::Duration next_retry_;
  absl::Status storage_;                  // Not OK: read-only, and why.
  scheduler::Effects effects_;            // Decided, not kept yet.
  std::vector<FromSession> held_;         // Arrived while read-only.
  std::vector<Question> questions_;       // To answer after the commit.
  std::map<SessionId, size_t> consumed_;  // To tell after the commit.
  std::map<scheduler::RequestNumber, CallDone> calls_;
  scheduler::RequestNumber last_call_ = 0;
  bool fleet_changed_ = true;

  mutable Mutex view_mutex_;
  // shared: with the readers that took it.
  std::shared_ptr<const LiveView> view_ ABSL_GUARDED_BY(view_mutex_);

  std::thread thread_;
};

}  // namespace noisefloor
