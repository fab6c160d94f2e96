// A bounded queue from many threads to one that takes everything at once.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/time/time.h"

#include "common/base/mutex.h"

namespace noisefloor {

// Thread-safe. Destroy only when nobody waits in TakeAll.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t limit) : limit_(limit) {}

  // False when full or closed; the caller decides what becomes of the item. Any thread.
  [[nodiscard]] bool Post(T item) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return waiting_.size() < limit_ && Add(std::move(item));
  }

  // The same past the limit: for what is bounded otherwise and must not be lost. False when closed.
  [[nodiscard]] bool PostPastLimit(T item) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return Add(std::move(item));
  }

  // Waits until something is here, `timeout` has passed or the mailbox is closed, then takes all
  // there is, in order of arrival. Empty on timeout.
  [[nodiscard]] std::vector<T> TakeAll(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    if (waiting_.empty() && !closed_) arrived_.WaitFor(mutex_, timeout);
    return std::exchange(waiting_, {});
  }

  // Further posts are refused; a waiting TakeAll returns.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    closed_ = true;
    arrived_.NotifyAll();
  }

  // What waits at this moment.
  [[nodiscard]] size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return waiting_.size();
  }

  [[nodiscard]] bool closed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return closed_;
  }

 private:
  bool Add(T item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_) return false;
    waiting_.push_back(std::move(item));
    arrived_.NotifyOne();
    return true;
  }

  const size_t limit_;
  mutable Mutex mutex_;
  CondVar arrived_;
  std::vector<T> waiting_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace noisefloor
