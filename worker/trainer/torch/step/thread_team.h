// Threads that live as long as a training and do the same work on ranks 0 to n - 1.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "common/base/mutex.h"

namespace noisefloor::trainer {

// One caller at a time. A team of one works on the caller's own thread.
class ThreadTeam {
 public:
  // `prepare` runs once on each thread of the team, before its first work. Throws std::system_error
  // where the machine gives too few threads.
  ThreadTeam(int64_t size, const std::function<void()>& prepare);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  // Calls work(rank) once for each rank and returns when all are done. An exception that LibTorch
  // throws in one (the lowest rank's, if several do) is thrown again here, after all are done.
  void Run(const std::function<void(int64_t rank)>& work) ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t size() const { return size_; }

 private:
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop(int64_t rank, const std::function<void()>& prepare) ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t size_;
  Mutex mutex_;
  CondVar changed_;
  const std::function<void(int64_t)>* work_ ABSL_GUARDED_BY(mutex_) = nullptr;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;   // Rises with each Run.
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;  // Ranks not yet done in this round.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::exception_ptr> failures_;  // One a rank; each written by its thread.
  std::vector<std::thread> threads_;
};

}  // namespace noisefloor::trainer
