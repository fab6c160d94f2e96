// The coordinator's service for workers, wherever the coordinator is by now.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/time/time.h"

#include "common/base/mutex.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

// Of a call that carries a file of `size` bytes, either way: 64 KiB a second, and a minute. What is
// cut off begins anew, so that a slow line must have the time for a whole file.
inline absl::Duration DeadlineFor(uint64_t size) {
  return absl::Seconds(60) + absl::Seconds(static_cast<int64_t>(size >> 16));
}

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
