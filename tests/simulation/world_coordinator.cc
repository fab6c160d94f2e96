// The coordinator of a simulated world: what coordinator/loop does, on one thread with the rest.
#include <algorithm>
#include <iterator>
#include <utility>

#include "tests/coordinator/scheduler/fleet.h"
#include "tests/simulation/world.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: events and effects are named so often here.

namespace {

constexpr absl::Duration kRetry = absl::Seconds(2);

template <typename... Ts>
bool IsOneOf(const Event& event) {
  return (std::holds_alternative<Ts>(event) || ...);
}

bool IsCall(const Event& event) {
  return IsOneOf<SweepSubmitted, SweepCancelled, SweepRetried, SweepUpdated, SweepExtended,
                 SweepDeleted, ShareUpdated, WorkerUpdated>(event);
}

// What writes later, perhaps, though not at once.
bool IsDoneInPieces(const Event& event) {
  return IsOneOf<SweepCancelled, SweepRetried, SweepExtended>(event);
}

SessionId SessionOf(const Event& event) {
  return std::visit(
      [](const auto& e) -> SessionId {
        if constexpr (requires { e.session; }) {
          return e.session;
        } else {
          return {};
        }
      },
      event);
}

// As far as it can be told without comparing every write.
bool IsAlike(const Effects& a, const Effects& b) {
  return a.writes.size() == b.writes.size() && a.sends.size() == b.sends.size() &&
         Started(a) == Started(b) && a.more == b.more && a.changed.sweeps == b.changed.sweeps &&
         a.changed.leases == b.changed.leases;
}

void Append(Effects from, Effects& to) {
  std::ranges::move(from.writes, std::back_inserter(to.writes));
  std::ranges::move(from.sends, std::back_inserter(to.sends));
}

}  // namespace

absl::Time World::Now() const {
  return mutant_ == Mutant::kUsesTheWallClock ? clocks_.Wall() : clocks_.Coordinator();
}

// Group commit: workers' events and the time first, then calls, which can be refused.
void World::Handle(std::vector<Event> events, bool tick) {
  const size_t restarts = result_.restarts;
  if (failing_) RetryWhenDue();
  if (Stopped() || result_.restarts != restarts) return;
  for (Event& event : events) {
    if (IsCall(event)) {
      calls_.push_back(std::move(event));
    } else {
      Take(std::move(event));
    }
  }
  if (more_ && !failing_) DecideAnd(Continue{});
  if (tick && !failing_) DecideAnd(Tick{});
  if (!Commit()) return;
  DecideCalls();
  if (more_ && !failing_ && result_.restarts == restarts && !Stopped()) Handle({}, false);
}

// While nothing can be kept, what workers say again by themselves is dropped, the rest is held.
void World::Take(Event event) {
  if (!failing_) return DecideAnd(std::move(event));
  if (IsOneOf<Heartbeat, RecordsArrived, AttemptFinished>(event)) return;
  if (const auto* lost = std::get_if<SessionLost>(&event)) {
    std::erase_if(held_, [&](const Event& held) { return SessionOf(held) == lost->session; });
    if (!scheduler_.Knows(lost->session)) return;
  }
  held_.push_back(std::move(event));
}

// The worker as if it held all that it was given.
Event World::Believed(Event event) const {
  if (mutant_ != Mutant::kBelievesItsOwnLeases) return event;
  auto* beat = std::get_if<Heartbeat>(&event);
  auto* joins = std::get_if<WorkerConnected>(&event);
  const auto worker = worker_of_.find(SessionOf(event));
  if ((beat == nullptr && joins == nullptr) || worker == worker_of_.end()) return event;
  const uint64_t identity = workers_[worker->second]->traits().identity;
  std::vector<HeldLease>& held = beat == nullptr ? joins->held : beat->held;
  held.clear();
  for (const RecoveredLease& lease : store_.Recovered().leases) {
    const auto& workers = store_.Recovered().workers;
    const auto known = std::ranges::find(workers, lease.worker, &RecoveredWorker::worker);
    if (known != workers.end() && known->identity == identity) {
      held.push_back({lease.lease, lease.sequence, 1, 10});
    }
  }
  return event;
}

Effects World::Decide(Event event) {
  ++result_.steps;
  event = Believed(std::move(event));
  const SessionId session = SessionOf(event);
  const bool known = scheduler_.Knows(session);
  Effects effects = scheduler_.Step(bent_.Bend(event), Now());
  effects.writes = bent_.Straighten(std::move(effects.writes), event);
  terms_.Check(event, effects, clocks_.World(), known);
  return effects;
}

void World::DecideAnd(Event event) {
  Effects effects = Decide(std::move(event));
  more_ = effects.more;
  Append(std::move(effects), effects_);
}

bool World::Commit() {
  if (failing_) return true;
  if (!calm_ && chance_.OneIn(size_.dies)) return DieAtTheCommit();
  const auto took = KeepDecided();
  if (!took && mutant_ != Mutant::kTakesFailureForSuccess) {
    FailStorage();
    return true;
  }
  if (took && *took > absl::ZeroDuration()) {
    busy_until_ = clocks_.World() + *took;
  }
  TellAll();
  Check();
  return true;
}

// As the next step: how long it took.
std::optional<absl::Duration> World::Keep(const std::vector<Write>& writes) {
  if (mutant_ == Mutant::kNumbersRetriesAnew) last_step_ = store_.last_step();
  const auto took = disk_.Apply(last_step_ + 1, Mutated(writes), clocks_.World());
  if (took && !writes.empty()) ++last_step_;
  return took;
}

// What was tried before is tried again as the step that it was.
std::optional<absl::Duration> World::KeepDecided() {
  const std::vector<Write>& writes = effects_.writes;
  absl::Duration all;
  while (kept_writes_ < writes.size()) {
    const bool anew = mutant_ == Mutant::kMixesTriedAndNew;
    if (tried_writes_ == kept_writes_ || anew) tried_writes_ = writes.size();
    const auto at = [&](size_t place) {
      return writes.begin() + static_cast<std::ptrdiff_t>(place);
    };
    const auto took = Keep({at(kept_writes_), at(tried_writes_)});
    if (!took) return std::nullopt;
    all += *took;
    kept_writes_ = tried_writes_;
  }
  return all;
}

// Before it, or between it and the sends.
bool World::DieAtTheCommit() {
  const bool early =
      mutant_ == Mutant::kTellsBeforeItKeeps || mutant_ == Mutant::kDoesNotWaitForTheDisk;
  const Effects effects = effects_;
  if (chance_.OneIn(2) && !effects.writes.empty()) {
    disk_.Keep(last_step_ + 1, Mutated(effects.writes));
  }
  if (early) {
    Tell(effects.sends);
    Hand(absl::InfiniteFuture());
  }
  Restart();
  return false;
}

void World::RetryWhenDue() {
  if (Now() < next_retry_ || mutant_ == Mutant::kNeverTriesAgain) return;
  if (took_back_ && store_.last_step() != last_step_ && mutant_ != Mutant::kSettlesNoDoubt) {
    return Restart();  // Memory is behind the store: a new process goes on.
  }
  took_back_ = false;
  if (mutant_ == Mutant::kDropsWhatItCouldNotKeep) {
    effects_ = {};
    kept_writes_ = tried_writes_ = 0;
  }
  if (!KeepDecided()) {
    next_retry_ = Now() + kRetry;
    return;
  }
  failing_ = false;
  TellAll();
  Check();
  if (Stopped()) return;
  DecideAnd(StorageRecovered{});
  for (Event& event : std::exchange(held_, {})) Take(std::move(event));
}

void World::FailStorage() {
  failing_ = true;
  next_retry_ = Now() + kRetry;
  DecideAnd(StorageFailed{"the simulated disk"});
}

// All in one transaction; when that cannot be kept, each for itself: some need no write.
void World::DecideCalls() {
  const std::vector<Event> calls = std::exchange(calls_, {});
  if (calls.empty() || (!failing_ && DecideTogether(calls))) return;
  for (const Event& call : calls) {
    if (!IsDoneInPieces(call) && DecideTogether({call})) continue;
    ++result_.refused_calls;
  }
}

// What a call would come to, and it is taken back.
Effects World::TriedAndTakenBack(const Event& call) {
  const RecoveredState before = scheduler_.Durable();
  scheduler_.Remember();
  Effects effects = scheduler_.Step(bent_.Bend(call), Now());
  scheduler_.TakeBack();
  const std::string difference = Difference(scheduler_.Durable(), before);
  if (!difference.empty()) result_.problems.insert("taken back: " + difference);
  for (const std::string& broken : scheduler_.BrokenInvariants()) {
    result_.problems.insert("taken back: " + broken);
  }
  return effects;
}

// Whether they are kept; if not, it is as if they had never come.
bool World::DecideTogether(const std::vector<Event>& calls) {
  const bool small = size_.whole_every == 0;  // It looks at the whole state.
  const Effects tried = small ? TriedAndTakenBack(calls.front()) : Effects();
  scheduler_.Remember();
  Effects effects;
  for (const Event& call : calls) {
    Effects decided = Decide(call);
    if (small && &call == &calls.front() && !IsAlike(tried, decided)) {
      result_.problems.insert("a call that was taken back left something");
    }
    Append(std::move(decided), effects);
  }
  more_ = true;
  const bool writes = !effects.writes.empty();
  const bool kept = !writes || (!failing_ && Keep(effects.writes));
  if (!kept) {
    took_back_ = took_back_ || !failing_;
    mutant_ == Mutant::kKeepsWhatItRefused ? scheduler_.Forget() : scheduler_.TakeBack();
    if (!failing_) FailStorage();
    return false;
  }
  scheduler_.Forget();
  Tell(effects.sends);
  Check();
  return true;
}

void World::TellAll() {
  kept_writes_ = tried_writes_ = 0;
  Tell(std::exchange(effects_, {}).sends);
}

void World::TellWorker(SessionId session, const Send& send) {
  const auto worker = worker_of_.find(session);
  if (worker == worker_of_.end() || workers_[worker->second]->session() != session) return;
  // What a slow commit is waited for goes out after it.
  network_.To(worker->second, send, std::max(clocks_.World(), busy_until_));
}

void World::Tell(const std::vector<Send>& sends) {
  for (const Send& send : sends) {
    std::visit(
        [&](const auto& message) {
          if constexpr (requires { message.session; }) {
            TellWorker(message.session, send);
          } else if constexpr (requires { message.sweep; }) {
            if (!store_.HasSweep(message.sweep) && !store_.WasDeleted(message.sweep)) {
              result_.problems.insert("an acknowledged sweep is not in the store");
            }
          }
        },
        send);
  }
}

// A transaction that the store holds now.
void World::Saw(const std::vector<Write>& writes) {
  for (const Write& write : writes) {
    if (std::holds_alternative<GrantLease>(write)) ++result_.leases;
    const auto* event = std::get_if<AppendEvent>(&write);
    if (event != nullptr && event->kind == "late_result") ++result_.late_results;
  }
  grants_.Check(writes, store_.Recovered(), Now());
  shares_.Check(writes);
  if (witness_) witness_(writes, store_.Recovered());
}

void World::Restart() {
  ++result_.restarts;
  const bool early = mutant_ == Mutant::kReadsBeforeTheEnd;
  RecoveredState recovered = early ? store_.Recovered() : RecoveredState();
  disk_.Crash();
  if (!early) recovered = store_.Recovered();
  if (mutant_ == Mutant::kReusesLeaseNumbers) recovered.last_lease = LeaseId{};
  if (mutant_ == Mutant::kForgetsLeasesAtRestart) recovered.leases.clear();
  clocks_.Start();
  Options options = options_;
  if (mutant_ == Mutant::kRetriesTooOften) options.most_attempts = options.most_lost = 30;
  if (mutant_ == Mutant::kEndsQuarantinesEarly) options.quarantine = absl::Seconds(1);
  if (mutant_ == Mutant::kForgetsDrops) options.forget_after = absl::InfiniteDuration();
  scheduler_ = Scheduler::Restore(options, bent_.Bend(std::move(recovered)), Now());
  effects_ = {};
  kept_writes_ = tried_writes_ = 0;
  last_step_ = store_.last_step();
  took_back_ = false;
  calls_.clear();
  held_.clear();
  more_ = failing_ = false;
  busy_until_ = absl::InfinitePast();
  grants_.Restarted();
  shares_.Restarted();
  terms_.Restarted();
  for (const auto& worker : workers_) {
    worker->BreakStream(clocks_.World() + absl::Milliseconds(chance_.Below(8000)));
  }
  network_.Clear();  // Nobody hears of the broken streams.
  if (calm_) OpenEverything();
  worker_of_.clear();
  Check();
}

std::vector<Write> World::Mutated(std::vector<Write> writes) {
  if (mutant_ == Mutant::kForgetsDrops && chance_.OneIn(4)) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<DropLease>(w); });
  }
  if (mutant_ == Mutant::kForgetsRecords && chance_.OneIn(4)) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<KeepRecords>(w); });
  }
  if (mutant_ == Mutant::kForgetsDeletions) {
    std::erase_if(writes, [](const Write& w) { return std::holds_alternative<DeleteSweep>(w); });
  }
  if (mutant_ == Mutant::kForgetsOldNumbers) {
    for (Write& write : writes) {
      if (auto* extended = std::get_if<KeepExtension>(&write)) extended->content.before.clear();
    }
  }
  if (mutant_ == Mutant::kGrantsTheFirstSlot) {
    for (Write& write : writes) {
      if (auto* grant = std::get_if<GrantLease>(&write)) grant->slot = 0;
    }
  }
  if (mutant_ == Mutant::kAcceptsLateResults) {
    for (Write& write : writes) {
      if (auto* outcome = std::get_if<KeepOutcome>(&write)) outcome->accepted = true;
    }
  }
  return writes;
}

void World::Check() {
  const std::vector<std::string>& violations = store_.violations();
  for (; seen_violations_ < violations.size(); ++seen_violations_) {
    result_.problems.insert(violations[seen_violations_]);
  }
  if (failing_ || !effects_.writes.empty()) return;  // It is ahead of what is kept.
  if (size_.whole_every > 0 && result_.steps < next_whole_check_) return;
  next_whole_check_ = result_.steps + size_.whole_every;
  ++result_.whole_checks;
  for (const std::string& broken : scheduler_.BrokenInvariants()) result_.problems.insert(broken);
  const std::string difference = Difference(scheduler_.Durable(), store_.Recovered());
  if (!difference.empty()) result_.problems.insert("rebuilt from the store: " + difference);
}

}  // namespace noisefloor::test
