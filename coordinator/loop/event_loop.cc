#include "coordinator/loop/event_loop.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "common/base/reason.h"
#include "common/log/log.h"
#include "coordinator/loop/kept.h"

namespace noisefloor {

namespace {

absl::Status Stopping() { return NotTaken(true); }

bool CanBeMended(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted;
}

// Sweeps of which a person has something new to read, at once or when it is time.
void AddNews(const scheduler::Effects& effects, std::set<SweepId>& news, std::set<SweepId>& moved) {
  for (const scheduler::Write& write : effects.writes) {
    const auto* event = std::get_if<scheduler::AppendEvent>(&write);
    if (event != nullptr && event->sweep) news.insert(*event->sweep);
    const auto* records = std::get_if<scheduler::KeepRecords>(&write);
    if (records != nullptr) moved.insert(records->member.sweep);
  }
}

void Append(scheduler::Changed from, scheduler::Changed& to) {
  to.sweeps.merge(from.sweeps);
  to.workers.merge(from.workers);
  to.leases.merge(from.leases);
  to.owners.merge(from.owners);
  to.offers = to.offers || from.offers;
}

// What a worker says again by itself, with heartbeats, until it is answered.
bool IsSaidAgain(const scheduler::Event& event) {
  return std::holds_alternative<scheduler::Heartbeat>(event) ||
         std::holds_alternative<scheduler::RecordsArrived>(event) ||
         std::holds_alternative<scheduler::AttemptFinished>(event);
}

// The lease that an event is of; 0: none.
LeaseId LeaseOf(const scheduler::Event& event) {
  return std::visit(
      [](const auto& e) -> LeaseId {
        if constexpr (requires { e.lease; }) {
          return e.lease;
        } else {
          return {};
        }
      },
      event);
}

// What writes later, perhaps, though not at once: nobody could be told then that it was refused.
bool IsDoneInPieces(const CallEvent& event) {
  return std::holds_alternative<scheduler::SweepCancelled>(event) ||
         std::holds_alternative<scheduler::SweepRetried>(event) ||
         std::holds_alternative<scheduler::SweepExtended>(event);
}

scheduler::Event EventOf(const CallEvent& call, scheduler::RequestNumber number) {
  return std::visit(
      [number](auto event) -> scheduler::Event {
        event.request = number;
        return event;
      },
      call);
}

template <typename T>
void Append(std::vector<T> from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

void Append(scheduler::Effects from, scheduler::Effects& to) {
  Append(std::move(from.writes), to.writes);
  Append(std::move(from.sends), to.sends);
  Append(std::move(from.changed), to.changed);
}

}  // namespace

absl::Status NotTaken(bool stopping) {
  if (stopping) return MakeError(absl::StatusCode::kUnavailable, "the coordinator is stopping");
  return Because(MakeError(absl::StatusCode::kResourceExhausted, "too much is waiting; try again"),
                 Reason::kTooBusy);
}

EventLoop::EventLoop(Parts parts, EventLoopOptions options, scheduler::Scheduler scheduler,
                     absl::Time now)
    : parts_(std::move(parts)),
      options_(options),
      mailbox_(options.mailbox_limit),
      scheduler_(std::move(scheduler)),
      start_time_(now),
      start_steady_(parts_.clock.Steady()),
      start_slept_(parts_.clock.Slept()),
      next_tick_(start_steady_),
      next_retry_(start_steady_),
      next_news_(start_steady_),
      next_moved_(start_steady_),
      next_removal_(start_steady_) {
  const absl::StatusOr<StepNumber> last = parts_.store.LastStep();
  if (last.ok()) {
    last_step_ = *last;
  } else {
    parts_.fatal(last.status());
  }
  Publish(scheduler_.Everything());
}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void EventLoop::Stop() {
  mailbox_.Close();
  if (thread_.joinable()) thread_.join();
}

bool EventLoop::Post(SessionId session, scheduler::Event event, bool counted) {
  const bool ends = std::holds_alternative<scheduler::SessionLost>(event);
  FromSession item{session, std::move(event), counted};
  return ends ? mailbox_.PostPastLimit(std::move(item)) : mailbox_.Post(std::move(item));
}

void EventLoop::Call(CallEvent event, const CallDone& done, CallAwaited awaited) {
  if (waiting_calls_.fetch_add(1) >= options_.call_limit) {
    waiting_calls_.fetch_sub(1);
    return done({Because(
        MakeError(absl::StatusCode::kResourceExhausted, "too many calls are waiting; try again"),
        Reason::kTooBusy)});
  }
  if (!mailbox_.Post(CallItem{std::move(event), done, std::move(awaited)})) {
    waiting_calls_.fetch_sub(1);
    done({NotTaken(stopping())});
  }
}

void EventLoop::FindRequest(const std::string& request_id, const CallDone& done) {
  const auto answer = [this, request_id, done] {
    const auto found = scheduler_.FindRequest(request_id);
    if (!found) return done({MakeError(absl::StatusCode::kNotFound, "no such request")});
    done({absl::OkStatus(), found->sweep, found->members, found->resumed, found->hardware});
  };
  if (!mailbox_.Post(Question{answer})) done({NotTaken(stopping())});
}

std::string EventLoop::Explain(const MemberId& member) const {
  MutexLock lock(deciding_);
  return scheduler_.Explain(member, Now());
}

std::optional<std::string> EventLoop::ExplainSweep(SweepId sweep) const {
  MutexLock lock(deciding_);
  return scheduler_.ExplainSweep(sweep, Now());
}

std::optional<std::string> EventLoop::ExplainWorker(const std::string& name) const {
  MutexLock lock(deciding_);
  return scheduler_.ExplainWorker(name, Now());
}

scheduler::ClassCounts EventLoop::CountsByClass() const {
  MutexLock lock(deciding_);
  return scheduler_.CountsByClass();
}

std::vector<scheduler::Need> EventLoop::Needs() const {
  const MutexLock lock(deciding_);
  return scheduler_.Needs();
}

scheduler::Effects EventLoop::DecideOn(scheduler::Event event) {
  MutexLock lock(deciding_);
  return scheduler_.Step(std::move(event), Now());
}

void EventLoop::Run() {
  while (true) {
    const bool closed = mailbox_.closed();  // Before: what came until then is taken below.
    TakeFromMailbox();
    const bool ended = closed && arrived_.empty() && calls_.empty();
    HandleTimed();
    if (ended) break;
  }
  RefusePending();
}

// What they asked for goes on no more.
void EventLoop::RefusePending() {
  for (const auto& [number, done] : std::exchange(pending_, {})) Answer(done, {Stopping()});
}

absl::Duration EventLoop::UntilNextDeadline() const {
  if ((more_ && storage_.ok()) || !calls_.empty()) return absl::ZeroDuration();
  absl::Duration next = storage_.ok() ? next_tick_ : next_retry_;
  if (!news_.empty()) next = std::min(next, next_news_);
  if (!moved_.empty()) next = std::min(next, next_moved_);
  if (removing_ && storage_.ok()) {
    next = removal_failed_ ? std::min(next, next_removal_) : parts_.clock.Steady();
  }
  return std::max(next - parts_.clock.Steady(), absl::ZeroDuration());
}

// What an earlier piece has left comes first.
void EventLoop::TakeFromMailbox() {
  if (!arrived_.empty()) return;
  std::vector<Item> items = mailbox_.TakeAll(UntilNextDeadline());
  arrived_.assign(std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
  taken_ = arrived_.size();
}

void EventLoop::HandleTimed() {
  if (parts_.figures == nullptr) return Handle();
  const absl::Duration begun = parts_.clock.Steady();
  Handle();
  parts_.figures->NotePiece(absl::ToDoubleSeconds(parts_.clock.Steady() - begun));
}

// A piece. What is due comes before what arrives, which there may be ever more of.
void EventLoop::Handle() {
  const bool idle = arrived_.empty() && !more_;
  rows_ = 0;
  if (!storage_.ok()) RetryWhenDue();
  if (more_ && storage_.ok()) Step(scheduler::Continue{});
  DealWithArrived();
  TickWhenDue();
  Commit();
  DecideCalls();
  TellNewsWhenDue();
  for (const Question& question : std::exchange(questions_, {})) question.answer();
  RemoveDeleted(idle);
}

// One at least.
void EventLoop::DealWithArrived() {
  do {
    if (arrived_.empty()) break;
    std::visit([this](auto& item) { Take(std::move(item)); }, arrived_.front());
    arrived_.pop_front();
  } while (rows_ < options_.rows_at_once);
  taken_ = arrived_.size();
}

void EventLoop::Take(FromSession item) {
  if (!storage_.ok()) return Hold(std::move(item));
  if (item.counted) ++consumed_[item.session];
  if (parts_.figures != nullptr && std::holds_alternative<scheduler::Heartbeat>(item.event)) {
    ++parts_.figures->heartbeats;
  }
  Step(std::move(item.event));
}

// A session that comes and goes while nothing can be kept leaves nothing: the worker behind it was
// never welcomed.
void EventLoop::Hold(FromSession item) {
  if (std::exchange(item.counted, false)) parts_.links.Consumed(item.session, 1);
  if (std::holds_alternative<scheduler::SessionLost>(item.event)) {
    std::erase_if(held_, [&](const FromSession& held) { return held.session == item.session; });
    if (!scheduler_.Knows(item.session)) return;
  }
  if (IsWorthHolding(item)) held_.push_back(std::move(item));
}

bool EventLoop::IsWorthHolding(const FromSession& item) const {
  const LeaseId lease = LeaseOf(item.event);
  if (IsSaidAgain(item.event)) return false;
  if (lease != LeaseId{} && !scheduler_.FindLease(lease)) return false;
  return std::ranges::none_of(held_, [&](const FromSession& held) {
    return held.session == item.session && held.event.index() == item.event.index() &&
           LeaseOf(held.event) == lease;
  });
}

void EventLoop::Take(CallItem item) { calls_.push_back(std::move(item)); }

void EventLoop::Take(Question question) { questions_.push_back(std::move(question)); }

void EventLoop::Step(scheduler::Event event) {
  scheduler::Effects effects = DecideOn(std::move(event));
  more_ = effects.more;
  rows_ += RowsOf(effects.writes);
  Append(std::move(effects), effects_);
}

void EventLoop::TickWhenDue() {
  const absl::Duration steady = parts_.clock.Steady();
  if (!storage_.ok() || steady < next_tick_) return;
  next_tick_ = steady + options_.tick;
  NoteSleep();
  CheckStore();
  Step(scheduler::Tick{});
}

// Here alone: to the scheduler it is a stall between two ticks, over which it forgives its leases.
void EventLoop::NoteSleep() {
  const int64_t slept = absl::ToInt64Nanoseconds(parts_.clock.Slept() - start_slept_);
  slept_ns_ = std::max(slept_ns_.load(), slept);
}

void EventLoop::RetryWhenDue() {
  if (parts_.clock.Steady() < next_retry_) return;
  absl::Status kept = SettleDoubt();
  if (kept.ok()) kept = KeepDecided();
  if (!kept.ok()) {
    storage_ = kept;
    next_retry_ = parts_.clock.Steady() + options_.storage_retry;
    return;
  }
  LogInfo("storage_recovered", {{"writes", effects_.writes.size()}});
  storage_ = absl::OkStatus();
  board_.SetStorageProblem("");
  TellAll();
  if (parts_.storage_changed) parts_.storage_changed();
  Step(scheduler::StorageRecovered{});
  for (FromSession& item : std::exchange(held_, {})) Take(std::move(item));
}

void EventLoop::Commit() {
  if (!storage_.ok()) return;
  const absl::Status kept = KeepDecided();
  if (kept.ok()) {
    TellAll();
  } else {
    StorageFailed(kept);
  }
}

// What was tried before is tried again as the step that it was: it may be on disk. What was decided
// since is a step of its own.
absl::Status EventLoop::KeepDecided() {
  const std::span<const scheduler::Write> writes = effects_.writes;
  while (kept_writes_ < writes.size()) {
    if (tried_writes_ == kept_writes_) tried_writes_ = writes.size();
    NF_RETURN_IF_ERROR(Keep(writes.subspan(kept_writes_, tried_writes_ - kept_writes_)));
    kept_writes_ = tried_writes_;
  }
  return absl::OkStatus();
}

// Calls that could not be kept were refused, and their number goes to other writes: unless they
// are on disk all the same. Then memory is behind the store, and only a new process can go on.
absl::Status EventLoop::SettleDoubt() {
  if (!took_back_) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const StepNumber last, parts_.store.LastStep());
  if (last != last_step_) {
    parts_.fatal(
        MakeError(absl::StatusCode::kInternal,
                  "what was refused, because it could not be kept, is in the store after all"));
  }
  took_back_ = false;
  return absl::OkStatus();
}

// As the next step. OK, or what waiting may mend.
absl::Status EventLoop::Keep(std::span<const scheduler::Write> writes) {
  if (writes.empty()) return absl::OkStatus();
  absl::Status kept =
      parts_.figures == nullptr ? parts_.store.Apply(last_step_ + 1, writes) : ApplyTimed(writes);
  if (kept.ok()) ++last_step_;
  CheckStore();  // First: files that were removed may be why it failed.
  if (!kept.ok() && !CanBeMended(kept)) parts_.fatal(kept);
  return kept;
}

absl::Status EventLoop::ApplyTimed(std::span<const scheduler::Write> writes) {
  const absl::Duration begun = parts_.clock.Steady();
  const absl::Status kept = parts_.store.Apply(last_step_ + 1, writes);
  if (!kept.ok()) return kept;
  parts_.figures->commit_seconds.Observe(absl::ToDoubleSeconds(parts_.clock.Steady() - begun));
  parts_.figures->commit_writes.Observe(static_cast<double>(writes.size()));
  return kept;
}

void EventLoop::CheckStore() {
  if (!parts_.check) return;
  const absl::Status there = parts_.check();
  if (!there.ok()) parts_.fatal(there);
}

// A piece whenever nothing else is to do, and one at each tick if there is.
void EventLoop::RemoveDeleted(bool idle) {
  const absl::Duration steady = parts_.clock.Steady();
  if (!removing_ || !storage_.ok()) return;
  if (steady < next_removal_ && (!idle || removal_failed_)) return;
  const absl::StatusOr<bool> more = parts_.store.RemoveDeleted(options_.rows_removed_at_once);
  removal_failed_ = !more.ok();
  next_removal_ = steady + (more.ok() ? options_.tick : options_.storage_retry);
  if (more.ok()) {
    removing_ = *more;
  } else if (!CanBeMended(more.status())) {
    parts_.fatal(more.status());
  }
}

void EventLoop::StorageFailed(const absl::Status& why) {
  LogError("storage_failed",
           {{"status", why}, {"retry_s", absl::ToDoubleSeconds(options_.storage_retry)}});
  storage_ = why;
  next_retry_ = parts_.clock.Steady() + options_.storage_retry;
  Step(scheduler::StorageFailed{Message(why)});
  PublishProblem();
  TellConsumed();  // They wait no more: a session whose window they filled is read on.
}

// The others are answered: what nobody waits for is not done.
std::vector<EventLoop::CallItem> EventLoop::AwaitedCalls() {
  std::vector<CallItem> calls = std::exchange(calls_, {});
  std::erase_if(calls, [this](const CallItem& call) {
    const absl::Status awaited = call.awaited ? call.awaited() : absl::OkStatus();
    if (!awaited.ok()) Answer(call.done, {awaited});
    return !awaited.ok();
  });
  return calls;
}

// As many as a piece may have, in one transaction; when that cannot be kept, each of them all for
// itself: some need no write.
void EventLoop::DecideCalls() {
  std::vector<CallItem> calls = AwaitedCalls();
  if (calls.empty()) return;
  if (const size_t decided = storage_.ok() ? Decide(calls) : 0; decided > 0) {
    calls_.assign(std::make_move_iterator(calls.begin() + static_cast<std::ptrdiff_t>(decided)),
                  std::make_move_iterator(calls.end()));
    return;
  }
  for (const CallItem& call : calls) {
    if (!IsDoneInPieces(call.event) && Decide({&call, 1}) > 0) continue;
    Answer(call.done,
           {Because(Annotate(storage_, "this was not done, and nothing can be kept at present"),
                    Reason::kStorageFull)});
  }
}

// How many of the first ones are kept and answered; none, and it is as if they had never come.
size_t EventLoop::Decide(std::span<const CallItem> calls) {
  {
    MutexLock lock(deciding_);
    scheduler_.Remember();
  }
  scheduler::Effects effects;
  const scheduler::RequestNumber first = last_request_ + 1;
  size_t decided = 0;
  do {
    scheduler::Effects more = DecideOn(EventOf(calls[decided++].event, ++last_request_));
    rows_ += RowsOf(more.writes);
    Append(std::move(more), effects);
  } while (decided < calls.size() && rows_ < options_.rows_at_once);
  more_ = true;  // Or not: to ask costs a step that does nothing.
  const bool writes = !effects.writes.empty();
  const absl::Status kept = writes && storage_.ok() ? Keep(effects.writes) : storage_;
  const bool refused = writes && !kept.ok();
  {
    MutexLock lock(deciding_);
    refused ? scheduler_.TakeBack() : scheduler_.Forget();
  }
  if (refused) {
    took_back_ = took_back_ || storage_.ok();  // Else it was not tried.
    if (storage_.ok()) StorageFailed(kept);
    return 0;
  }
  for (size_t i = 0; i < decided; ++i) pending_.emplace(first + i, calls[i].done);
  Tell(effects);
  return decided;
}

std::string EventLoop::NameOf(WorkerId worker) const {
  const std::optional<scheduler::WorkerStatus> known = scheduler_.FindWorker(worker);
  return known ? known->name : "";
}

void EventLoop::TellAll() {
  const scheduler::Effects effects = std::exchange(effects_, {});
  kept_writes_ = tried_writes_ = 0;
  Tell(effects);
  TellConsumed();
}

void EventLoop::TellConsumed() {
  for (const auto& [session, events] : std::exchange(consumed_, {})) {
    parts_.links.Consumed(session, events);
  }
}

// Everything decided is on disk: say so, in the order of the decisions.
void EventLoop::Tell(const scheduler::Effects& effects) {
  AddNews(effects, news_, moved_);
  removing_ = removing_ || std::ranges::any_of(effects.writes, [](const scheduler::Write& write) {
                return std::holds_alternative<scheduler::DeleteSweep>(write);
              });
  if (parts_.figures != nullptr) CountKept(effects.writes, *parts_.figures);
  LogKept(effects.writes, {[this](const MemberId& member) { return board_.AttemptAt(member); },
                           [this](WorkerId worker) { return NameOf(worker); }});
  moved_.insert(effects.changed.sweeps.begin(), effects.changed.sweeps.end());
  Publish(effects.changed);  // First: a worker told to start may upload at once.
  for (const scheduler::Send& send : effects.sends) {
    if (const auto* submit = std::get_if<scheduler::AnswerSubmit>(&send)) {
      Answer(submit->request,
             {absl::OkStatus(), submit->sweep, submit->members, submit->resumed, submit->hardware});
    } else if (const auto* count = std::get_if<scheduler::AnswerCount>(&send)) {
      Answer(count->request, {absl::OkStatus(), {}, count->members, false, {}});
    } else if (const auto* error = std::get_if<scheduler::AnswerError>(&send)) {
      Answer(error->request, {MakeError(error->code, error->message), {}, 0, false, {}});
    } else {
      (void)parts_.links.Deliver(send);  // Gone: its SessionLost is on the way.
    }
  }
}

void EventLoop::Answer(scheduler::RequestNumber number, const CallResult& result) {
  const auto done = pending_.extract(number);
  if (!done.empty()) Answer(done.mapped(), result);
}

void EventLoop::Answer(const CallDone& done, const CallResult& result) {
  waiting_calls_.fetch_sub(1);
  done(result);
}

void EventLoop::Publish(const scheduler::Changed& changed) {
  BoardChanges changes;
  for (const SweepId sweep : changed.sweeps) {
    if (const auto counts = scheduler_.CountsOf(sweep)) {
      changes.sweeps.emplace_back(sweep, *counts);
    } else {
      changes.deleted.push_back(sweep);
    }
  }
  for (const WorkerId worker : changed.workers) {
    if (auto status = scheduler_.FindWorker(worker)) {
      changes.workers.push_back(*std::move(status));
    } else {
      changes.gone.push_back(worker);
    }
  }
  for (const LeaseId lease : changed.leases) {
    if (const auto running = scheduler_.FindLease(lease)) {
      changes.running.push_back(*running);
    } else {
      changes.forgotten.push_back(lease);
    }
  }
  for (const std::string& owner : changed.owners) {
    changes.weights.emplace_back(owner, scheduler_.WeightOf(owner));
  }
  if (changed.offers) {
    changes.classes = scheduler_.OfferedClasses();
    changes.stacks = scheduler_.OfferedStacks();
  }
  board_.Apply(std::move(changes));
}

// The first at once; what comes after it soon is told together. Each who watches reads the store
// then, and should not do so thousands of times a second. That running members have moved on is
// told still less often.
void EventLoop::TellNewsWhenDue() {
  const absl::Duration steady = parts_.clock.Steady();
  if (!moved_.empty() && steady >= next_moved_) {
    next_moved_ = steady + options_.moved_interval;
    news_.merge(std::exchange(moved_, {}));
  }
  if (news_.empty() || steady < next_news_) return;
  next_news_ = steady + options_.news_interval;
  parts_.changed(std::exchange(news_, {}));
}

// All else stays as it was: what was decided since is not on disk.
void EventLoop::PublishProblem() {
  board_.SetStorageProblem(Message(storage_));
  if (parts_.storage_changed) parts_.storage_changed();
}

absl::Time EventLoop::Now() const {
  return start_time_ + (parts_.clock.Steady() - start_steady_) +
         absl::Nanoseconds(slept_ns_.load());
}

}  // namespace noisefloor
