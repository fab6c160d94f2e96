#include "coordinator/query/work_queue.h"

#include <utility>

namespace noisefloor::query {

WorkQueue::WorkQueue(int threads, size_t waiting_limit) : waiting_limit_(waiting_limit) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkQueue::~WorkQueue() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkQueue::Post(std::function<void()> work) {
  MutexLock lock(mutex_);
  if (ending_ || waiting_.size() >= waiting_limit_) return false;
  waiting_.push_back(std::move(work));
  changed_.NotifyOne();
  return true;
}

void WorkQueue::Run() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !ending_) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      work = std::move(waiting_.front());
      waiting_.pop_front();
    }
    work();
  }
}

}  // namespace noisefloor::query
