// Threads that run what is posted, in order of arrival, with a limit on what waits.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace noisefloor::query {

// Thread-safe. The destructor runs what was posted to its end; nothing may be posted then.
class WorkQueue {
 public:
  WorkQueue(int threads, size_t waiting_limit);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False when `waiting_limit` pieces of work wait already.
  [[nodiscard]] bool Post(std::function<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t waiting_limit_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace noisefloor::query
