#include "worker/trainer/torch/step/thread_team.h"

#include <utility>

namespace noisefloor::trainer {

ThreadTeam::ThreadTeam(int64_t size, const std::function<void()>& prepare)
    : size_(size), failures_(static_cast<size_t>(size)) {
  if (size_ == 1) {
    prepare();
    return;
  }
  try {
    for (int64_t rank = 0; rank < size_; ++rank) {
      threads_.emplace_back([this, rank, prepare] { Loop(rank, prepare); });
    }
  } catch (...) {  // The machine gives no more threads: those there are must end first.
    Stop();
    throw;
  }
}

ThreadTeam::~ThreadTeam() { Stop(); }

void ThreadTeam::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::Run(const std::function<void(int64_t)>& work) {
  if (size_ == 1) return work(0);
  {
    MutexLock lock(mutex_);
    work_ = &work;
    running_ = size_;
    ++round_;
    changed_.NotifyAll();
    while (running_ > 0) changed_.Wait(mutex_);
  }
  std::exception_ptr lowest;
  for (std::exception_ptr& failure : failures_) {
    const std::exception_ptr one = std::exchange(failure, nullptr);
    if (!lowest) lowest = one;
  }
  if (lowest) std::rethrow_exception(lowest);
}

void ThreadTeam::Loop(int64_t rank, const std::function<void()>& prepare) {
  prepare();
  for (uint64_t seen = 0;; ++seen) {
    const std::function<void(int64_t)>* work = nullptr;
    {
      MutexLock lock(mutex_);
      while (round_ == seen && !stopping_) changed_.Wait(mutex_);
      if (stopping_) return;
      work = work_;
    }
    try {
      (*work)(rank);
    } catch (...) {  // LibTorch's; ours throws nothing.
      failures_[static_cast<size_t>(rank)] = std::current_exception();
    }
    MutexLock lock(mutex_);
    if (--running_ == 0) changed_.NotifyAll();
  }
}

}  // namespace noisefloor::trainer
