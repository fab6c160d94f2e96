#include "coordinator/loop/live_board.h"

namespace noisefloor {

void LiveBoard::Apply(BoardChanges changes) {
  std::vector<Worker> posted;  // Made before the lock; what they replace dies after it.
  for (scheduler::WorkerStatus& status : changes.workers) {
    posted.push_back(std::make_shared<const scheduler::WorkerStatus>(std::move(status)));
  }
  MutexLock lock(mutex_);
  for (auto& [sweep, counts] : changes.sweeps) {
    const auto [known, is_new] = sweeps_.try_emplace(sweep);
    if (!is_new) Count(known->second, /*come=*/false);
    known->second = counts;
    Count(counts, /*come=*/true);
  }
  for (const SweepId sweep : changes.deleted) {
    const auto gone = sweeps_.extract(sweep);
    if (!gone.empty()) Count(gone.mapped(), /*come=*/false);
  }
  for (const auto& [owner, weight] : changes.weights) {
    shares_[owner].weight = weight;
    DropIfEven(owner);
  }
  for (Worker& worker : posted) {
    const WorkerId id = worker->worker;
    workers_[id].swap(worker);
  }
  for (const WorkerId worker : changes.gone) workers_.erase(worker);
  for (const LeaseId lease : changes.forgotten) {
    const auto it = leases_.find(lease);
    if (it == leases_.end()) continue;
    const auto running = running_.find(it->second);
    if (running != running_.end() && running->second.lease == lease) running_.erase(running);
    leases_.erase(it);
  }
  for (const scheduler::RunningAttempt& attempt : changes.running) {
    leases_[attempt.lease] = attempt.member;
    running_[attempt.member] = attempt;
  }
  if (changes.classes) classes_.swap(*changes.classes);
  if (changes.stacks) stacks_.swap(*changes.stacks);
}

void LiveBoard::Count(const scheduler::SweepCounts& counts, bool come) {
  OwnerShare& share = shares_[counts.sharing.owner];
  const uint64_t waiting = counts.In(MemberState::kWaiting);
  const uint64_t running = counts.In(MemberState::kLeased);
  share.waiting = come ? share.waiting + waiting : share.waiting - waiting;
  share.running = come ? share.running + running : share.running - running;
  DropIfEven(counts.sharing.owner);
}

void LiveBoard::DropIfEven(const std::string& owner) {
  const auto share = shares_.find(owner);
  if (share != shares_.end() && share->second == OwnerShare{}) shares_.erase(share);
}

void LiveBoard::SetStorageProblem(std::string problem) {
  MutexLock lock(mutex_);
  storage_problem_.swap(problem);
}

std::optional<scheduler::SweepCounts> LiveBoard::CountsOf(SweepId sweep) const {
  MutexLock lock(mutex_);
  const auto it = sweeps_.find(sweep);
  if (it == sweeps_.end()) return std::nullopt;
  return it->second;
}

std::vector<SweepId> LiveBoard::Undecided() const {
  std::vector<SweepId> undecided;
  MutexLock lock(mutex_);
  for (const auto& [sweep, counts] : sweeps_) {
    if (counts.undecided) undecided.push_back(sweep);
  }
  return undecided;
}

bool LiveBoard::IsLive(LeaseId lease) const {
  MutexLock lock(mutex_);
  return leases_.contains(lease);
}

std::optional<scheduler::RunningAttempt> LiveBoard::AttemptAt(const MemberId& member) const {
  MutexLock lock(mutex_);
  const auto it = running_.find(member);
  if (it == running_.end()) return std::nullopt;
  return it->second;
}

std::optional<scheduler::RunningAttempt> LiveBoard::AttemptOf(LeaseId lease) const {
  MutexLock lock(mutex_);
  const auto member = leases_.find(lease);
  if (member == leases_.end()) return std::nullopt;
  const auto found = running_.find(member->second);
  if (found == running_.end() || found->second.lease != lease) return std::nullopt;
  return found->second;
}

std::vector<LiveBoard::Worker> LiveBoard::Workers() const {
  MutexLock lock(mutex_);
  std::vector<Worker> workers;
  workers.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) workers.push_back(worker);
  return workers;
}

std::map<std::string, OwnerShare> LiveBoard::Shares() const {
  MutexLock lock(mutex_);
  return shares_;
}

OwnerShare LiveBoard::ShareOf(const std::string& owner) const {
  MutexLock lock(mutex_);
  const auto it = shares_.find(owner);
  return it == shares_.end() ? OwnerShare{} : it->second;
}

std::vector<std::string> LiveBoard::classes() const {
  MutexLock lock(mutex_);
  return classes_;
}

std::vector<std::string> LiveBoard::stacks() const {
  MutexLock lock(mutex_);
  return stacks_;
}

std::string LiveBoard::storage_problem() const {
  MutexLock lock(mutex_);
  return storage_problem_;
}

}  // namespace noisefloor
