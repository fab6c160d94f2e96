#include "coordinator/scheduler/scheduler.h"

#include <map>
#include <set>
#include <utility>

#include "coordinator/scheduler/explain.h"
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/invariants.h"
#include "coordinator/scheduler/leases.h"
#include "coordinator/scheduler/placement.h"
#include "coordinator/scheduler/quarantine.h"
#include "coordinator/scheduler/restore.h"
#include "coordinator/scheduler/selection.h"
#include "coordinator/scheduler/state.h"
#include "coordinator/sweep/extend.h"

namespace noisefloor::scheduler {

namespace {

RunningAttempt ToRunning(const Lease& lease) {
  return {lease.id, lease.member, lease.attempt, lease.worker, lease.step, lease.step_count};
}

WorkerStatus StatusOf(const State& state, const Worker& worker) {
  WorkerStatus status;
  status.worker = worker.id;
  status.name = worker.name;
  status.connected = worker.session.has_value();
  status.draining = worker.draining || worker.drained;
  status.inventory = worker.inventory;
  status.schemas = worker.schemas;
  status.paused = PausesOf(worker, state.now);
  status.running.reserve(worker.leases.size());
  for (const auto& [lease, member] : worker.leases) status.running.push_back(member);
  return status;
}

std::vector<std::string> NamesIn(const std::map<std::string, uint32_t>& offered) {
  std::vector<std::string> names;
  for (const auto& [name, workers] : offered) names.push_back(name);
  return names;
}

// A sign of life. One that had been silent takes leases again.
void Hear(Turn& turn, SessionId session) {
  Worker* worker = WorkerOf(turn.state, session);
  if (worker == nullptr) return;
  if (!TakesLeases(*worker, turn.state.options, turn.now)) turn.state.placement_due = true;
  worker->heard = turn.now;
}

}  // namespace

Scheduler::Scheduler(Options options) : state_(std::make_unique<State>()) {
  state_->options = options;
}

Scheduler::Scheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scheduler::~Scheduler() = default;
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;

Scheduler Scheduler::Restore(Options options, const RecoveredState& recovered, absl::Time now) {
  return Scheduler(RestoreState(options, recovered, now));
}

Effects Scheduler::Step(Event event, absl::Time now) {
  Effects effects;
  state_->now = now;
  Turn turn{*state_, now, effects};
  std::visit(
      [&](auto& happened) {
        if constexpr (requires { happened.session; }) Hear(turn, happened.session);
        On(turn, std::move(happened));
      },
      event);
  for (const SweepId id : std::set<SweepId>(effects.changed.sweeps)) {
    if (const SweepState* sweep = FindSweep(*state_, id)) StopAtMaxFailures(turn, *sweep);
  }
  PlaceMembers(turn);
  effects.more =
      !state_->storage_failed_since && (state_->placement_due || IsExpiryDue(*state_) ||
                                        !state_->changes.empty() || !state_->removed.empty());
  return effects;
}

void Scheduler::Remember() {
  before_ = std::make_unique<SmallState>(*state_);
  state_->Each([](auto& part) { part.Remember(); });
}

void Scheduler::TakeBack() {
  if (before_ == nullptr) return;
  static_cast<SmallState&>(*state_) = std::move(*std::exchange(before_, nullptr));
  state_->Each([](auto& part) { part.TakeBack(); });
}

void Scheduler::Forget() {
  before_ = nullptr;
  state_->Each([](auto& part) { part.Forget(); });
}

std::string Scheduler::Explain(const MemberId& member, absl::Time now) const {
  return ExplainMember(*state_, member, now);
}

std::optional<std::string> Scheduler::ExplainSweep(SweepId sweep, absl::Time now) const {
  return scheduler::ExplainSweep(*state_, sweep, now);
}

std::optional<std::string> Scheduler::ExplainWorker(const std::string& name, absl::Time now) const {
  return scheduler::ExplainWorker(*state_, name, now);
}

std::optional<AnswerSubmit> Scheduler::FindRequest(const std::string& request_id) const {
  const State& state = *state_;
  const auto it = state.sweeps_by_request.find(request_id);
  if (it == state.sweeps_by_request.end()) return std::nullopt;
  const SweepState& sweep = state.sweeps.at(it->second);
  return AnswerSubmit{0, sweep.id, sweep.counts.members, true, sweep.content.hardware};
}

std::optional<RunningAttempt> Scheduler::FindLease(LeaseId lease) const {
  const State& state = *state_;
  const auto it = state.leases.find(lease);
  if (it == state.leases.end()) return std::nullopt;
  return ToRunning(it->second);
}

std::optional<SweepCounts> Scheduler::CountsOf(SweepId sweep) const {
  const State& state = *state_;
  const auto it = state.sweeps.find(sweep);
  if (it == state.sweeps.end()) return std::nullopt;
  SweepCounts counts = it->second.counts;
  counts.sharing = it->second.sharing;
  counts.ended = it->second.ended;
  counts.revision = it->second.revision;
  counts.undecided = sweep::IsUndecided(it->second.content);
  return counts;
}

ClassCounts Scheduler::CountsByClass() const { return state_->by_class; }

uint32_t Scheduler::WeightOf(const std::string& owner) const {
  const auto it = state_->owners_by_name.find(owner);
  return it == state_->owners_by_name.end() ? 1 : state_->owners[it->second].standing.weight;
}

bool Scheduler::Knows(SessionId session) const { return state_->sessions.contains(session); }

std::vector<RunningAttempt> Scheduler::Running() const {
  std::vector<RunningAttempt> running;
  for (const auto& [id, lease] : std::as_const(*state_).leases) running.push_back(ToRunning(lease));
  return running;
}

std::vector<WorkerStatus> Scheduler::Workers() const {
  std::vector<WorkerStatus> workers;
  for (const auto& [id, worker] : std::as_const(*state_).workers)
    workers.push_back(StatusOf(*state_, worker));
  return workers;
}

std::optional<WorkerStatus> Scheduler::FindWorker(WorkerId worker) const {
  const State& state = *state_;
  const auto it = state.workers.find(worker);
  if (it == state.workers.end()) return std::nullopt;
  return StatusOf(state, it->second);
}

Changed Scheduler::Everything() const {
  Changed all;
  const State& state = *state_;
  for (const auto& [id, sweep] : state.sweeps) all.sweeps.insert(id);
  for (const auto& [id, worker] : state.workers) all.workers.insert(id);
  for (const auto& [id, lease] : state.leases) all.leases.insert(id);
  for (const Owner& owner : state.owners) {
    if (owner.standing.weight != 1) all.owners.insert(owner.name);
  }
  all.offers = true;
  return all;
}

std::vector<std::string> Scheduler::OfferedClasses() const {
  return NamesIn(state_->offered_classes);
}

std::vector<std::string> Scheduler::OfferedStacks() const {
  return NamesIn(state_->offered_stacks);
}

uint64_t Scheduler::looked_at() const { return state_->looked_at; }

RecoveredState Scheduler::Durable() const { return DurableState(*state_); }

std::vector<std::string> Scheduler::BrokenInvariants() const { return CheckInvariants(*state_); }

}  // namespace noisefloor::scheduler
