#include "worker/daemon/pulse.h"

#include <algorithm>
#include <utility>

namespace noisefloor {

Pulse::Pulse() : thread_([this] { Run(); }) {}

Pulse::~Pulse() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void Pulse::Open(Session& session, absl::Duration interval) {
  MutexLock lock(mutex_);
  session_ = &session;
  interval_ = interval;
  changed_.NotifyAll();
}

void Pulse::Close() {
  MutexLock lock(mutex_);
  session_ = nullptr;
}

void Pulse::Begin(v1::SessionRequest heartbeat) {
  MutexLock lock(mutex_);
  heartbeat_ = std::move(heartbeat);
  ++waits_;
}

void Pulse::End() {
  MutexLock lock(mutex_);
  heartbeat_.reset();
}

// It looks at the clock once in an interval and is woken by no wait: nearly all of them are over
// before it looks.
void Pulse::Run() {
  MutexLock lock(mutex_);
  uint64_t seen = 0;
  while (!ends_) {
    if (session_ == nullptr) {
      changed_.Wait(mutex_);
      continue;
    }
    (void)changed_.WaitFor(mutex_, interval_);
    if (heartbeat_ && waits_ == seen) BeatUntilTheEnd();
    seen = waits_;
  }
}

// A wait that was there an interval ago is there still.
void Pulse::BeatUntilTheEnd() {
  const uint64_t wait = waits_;
  const auto most = std::max<int64_t>(
      1, absl::ToInt64Milliseconds(kLongestWait) / absl::ToInt64Milliseconds(interval_));
  for (int64_t beats = 0; beats < most && !ends_; ++beats) {
    if (!heartbeat_ || waits_ != wait || session_ == nullptr) return;
    (void)session_->Send(*heartbeat_);
    (void)changed_.WaitFor(mutex_, interval_);
  }
  while (heartbeat_ && waits_ == wait && !ends_) (void)changed_.WaitFor(mutex_, interval_);
}

}  // namespace noisefloor
