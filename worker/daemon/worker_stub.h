// The coordinator's service for workers, wherever the coordinator is by now.
#pragma once

#include <memory>
#include <utility>

#include "common/base/mutex.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

// Any thread. Who calls takes the stub first and keeps it while the call lasts: one that is
// replaced meanwhile is not gone.
class WorkerStub {
 public:
  // shared: with calls that run.
  using Stub = std::shared_ptr<v1::WorkerService::StubInterface>;

  explicit WorkerStub(Stub stub) : stub_(std::move(stub)) {}

  Stub Get() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    return stub_;
  }
  // The coordinator is somewhere else: the next calls go there.
  void Follow(Stub stub) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    stub_ = std::move(stub);
  }

 private:
  mutable Mutex mutex_;
  Stub stub_ ABSL_GUARDED_BY(mutex_);  // Never null.
};

}  // namespace noisefloor
