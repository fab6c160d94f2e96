// The newest view of the running coordinator, from the loop to all who read.
#pragma once

#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "coordinator/loop/live_view.h"

namespace noisefloor {

// A view as one reader took it: nothing in it moves or dies while this lives. To be held by name:
// `for (... : loop.live()->running)` does not compile, since what the loop runs over would be gone
// before its first round.
class TakenView {
 public:
  // shared: as view_ below.
  explicit TakenView(std::shared_ptr<const LiveView> view) : view_(std::move(view)) {}

  const LiveView* operator->() const& { return view_.get(); }
  const LiveView& operator*() const& { return *view_; }
  const LiveView* operator->() const&& = delete;
  const LiveView& operator*() const&& = delete;

 private:
  // shared: with the readers that took the same view, and with the loop until it publishes again.
  std::shared_ptr<const LiveView> view_;
};

// Thread-safe. One publishes, many take; neither waits for the other's work.
class PublishedView {
 public:
  void Publish(LiveView view) ABSL_LOCKS_EXCLUDED(mutex_) {
    auto next = std::make_shared<const LiveView>(std::move(view));
    MutexLock lock(mutex_);
    view_.swap(next);  // What nobody else has dies after the lock: `next` is older than it.
  }
  TakenView Take() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return TakenView(view_);
  }

 private:
  mutable Mutex mutex_;
  // shared: see TakenView.
  std::shared_ptr<const LiveView> view_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const LiveView>();
};

}  // namespace noisefloor
