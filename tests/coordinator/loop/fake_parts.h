// A clock, a store and streams that a test holds in its hand, for the event loop.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "coordinator/loop/worker_links.h"
#include "coordinator/scheduler/recovered.h"
#include "coordinator/store/store.h"

namespace noisefloor::test {

// Stands still until it is moved. Any thread.
class HandClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::FromUnixSeconds(1'000'000); }
  absl::Duration Steady() const override { return absl::Microseconds(steady_us_.load()); }
  absl::Duration Slept() const override { return absl::Microseconds(slept_us_.load()); }
  void Advance(absl::Duration by) { steady_us_ += absl::ToInt64Microseconds(by); }
  void Sleep(absl::Duration by) { slept_us_ += absl::ToInt64Microseconds(by); }

 private:
  std::atomic<int64_t> steady_us_{0};
  std::atomic<int64_t> slept_us_{0};
};

// Keeps what the loop applies, or refuses it with the status that the test has set. Any thread.
class HandStore final : public Store {
 public:
  absl::Status Apply(StepNumber step, std::span<const scheduler::Write> writes) override {
    MutexLock lock(mutex_);
    ++tries_;
    changed_.NotifyAll();
    while (held_) changed_.Wait(mutex_);
    const bool keeps = (status_.ok() || keeps_and_fails_) && step == kept_.size() + 1;
    if (keeps) kept_.emplace_back(writes.begin(), writes.end());
    changed_.NotifyAll();
    if (step > kept_.size() + 1) return MakeError(absl::StatusCode::kInternal, "no such step");
    return status_;
  }
  absl::StatusOr<StepNumber> LastStep() override {
    MutexLock lock(mutex_);
    return kept_.size();
  }
  absl::StatusOr<scheduler::RecoveredState> Recover() override { return recovered_; }
  absl::StatusOr<bool> RemoveDeleted(uint32_t) override {
    MutexLock lock(mutex_);
    ++removals_;
    if (!removal_.ok()) return removal_;
    return removals_ < pieces_;
  }

  // So many removals are needed, or each fails with that.
  void LeaveDeleted(int pieces, absl::Status status = absl::OkStatus()) {
    MutexLock lock(mutex_);
    pieces_ = pieces;
    removal_ = std::move(status);
  }
  int removals() {
    MutexLock lock(mutex_);
    return removals_;
  }
  void Fail(absl::Status status) {
    MutexLock lock(mutex_);
    status_ = std::move(status);
  }
  // What fails is kept all the same.
  void FailInDoubt(absl::Status status) {
    MutexLock lock(mutex_);
    status_ = std::move(status);
    keeps_and_fails_ = !status_.ok();
  }
  // Apply waits inside until it is let go.
  void Hold(bool held) {
    MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  void WaitForTries(int count) {
    MutexLock lock(mutex_);
    while (tries_ < count) changed_.Wait(mutex_);
  }
  int tries() {
    MutexLock lock(mutex_);
    return tries_;
  }
  // One list per transaction.
  std::vector<std::vector<scheduler::Write>> kept() {
    MutexLock lock(mutex_);
    return kept_;
  }
  template <typename T>
  int CountKept() {
    MutexLock lock(mutex_);
    return CountLocked<T>();
  }
  template <typename T>
  void WaitForKept(int count) {
    MutexLock lock(mutex_);
    while (CountLocked<T>() < count) changed_.Wait(mutex_);
  }

  scheduler::RecoveredState recovered_;  // Set before the loop starts.

 private:
  template <typename T>
  int CountLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int count = 0;
    for (const auto& writes : kept_) {
      for (const auto& write : writes) count += std::holds_alternative<T>(write);
    }
    return count;
  }

  Mutex mutex_;
  CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool keeps_and_fails_ ABSL_GUARDED_BY(mutex_) = false;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int tries_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status removal_ ABSL_GUARDED_BY(mutex_);
  int pieces_ ABSL_GUARDED_BY(mutex_) = 1;
  int removals_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::vector<scheduler::Write>> kept_ ABSL_GUARDED_BY(mutex_);
};

// Remembers what was delivered. Any thread.
class HandLinks final : public WorkerLinks {
 public:
  bool Deliver(const scheduler::Send& send) override {
    if (on_deliver_) on_deliver_(send);
    MutexLock lock(mutex_);
    delivered_.push_back(send);
    changed_.NotifyAll();
    return true;
  }
  void Consumed(SessionId session, size_t events) override {
    MutexLock lock(mutex_);
    consumed_[session] += events;
    changed_.NotifyAll();
  }

  // The n-th of its kind, from 1, in order of delivery.
  template <typename T>
  T Wait(int n = 1) {
    MutexLock lock(mutex_);
    while (true) {
      int seen = 0;
      for (const auto& send : delivered_) {
        const T* one = std::get_if<T>(&send);
        if (one != nullptr && ++seen == n) return *one;
      }
      changed_.Wait(mutex_);
    }
  }
  void WaitForConsumed(SessionId session, size_t events) {
    MutexLock lock(mutex_);
    while (consumed_[session] < events) changed_.Wait(mutex_);
  }
  size_t consumed(SessionId session) {
    MutexLock lock(mutex_);
    return consumed_[session];
  }
  template <typename T>
  int Count() {
    MutexLock lock(mutex_);
    int count = 0;
    for (const auto& send : delivered_) count += std::holds_alternative<T>(send) ? 1 : 0;
    return count;
  }
  size_t delivered() {
    MutexLock lock(mutex_);
    return delivered_.size();
  }

  std::function<void(const scheduler::Send&)> on_deliver_;  // Set before the loop starts.

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<scheduler::Send> delivered_ ABSL_GUARDED_BY(mutex_);
  std::map<SessionId, size_t> consumed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor::test
