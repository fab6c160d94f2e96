// Ends a call whose other side keeps us waiting.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"

#include "common/base/mutex.h"

namespace noisefloor {

// Of one call, which ends after it: one thread at a time.
class CallPatience {
 public:
  explicit CallPatience(grpc::ServerContextBase& context);
  ~CallPatience();
  CallPatience(const CallPatience&) = delete;
  CallPatience& operator=(const CallPatience&) = delete;

  // From now on the call has so long, whatever was said before; then it is cancelled.
  void Start(absl::Duration wait);
  void Stop() { alarm_.reset(); }

 private:
  // shared: with an alarm that rings while this is destroyed.
  struct Call {
    Mutex mutex;
    grpc::ServerContextBase* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  const std::shared_ptr<Call> call_;    // shared: see Call.
  std::unique_ptr<grpc::Alarm> alarm_;  // While the other side is awaited.
};

}  // namespace noisefloor
