// How many streams of one kind may be open, and how long one of them may keep us waiting.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/server_context.h"

#include "common/base/mutex.h"
#include "common/base/status.h"

namespace noisefloor {

// Of one kind, counted together. Thread-safe.
struct StreamPlaces {
  std::string what;  // "uploads", for refusals.
  size_t most = 64;
  absl::Duration idle = absl::Minutes(1);  // For each message; one that takes longer ends.
  std::atomic<size_t> taken{0};
};

// Of one stream, as long as it lives: one thread at a time. `places` outlives it, the call ends
// after it.
class StreamPlace {
 public:
  StreamPlace(StreamPlaces& places, grpc::ServerContextBase& context);
  ~StreamPlace();
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;

  // ResourceExhausted when all places were taken before.
  absl::Status status() const;

  // Before a message is read or written, which only the other side can end: after `idle` the call
  // is cancelled, unless AwaitNoMore was called.
  void Await();
  void AwaitNoMore() { alarm_.reset(); }

 private:
  static bool Take(StreamPlaces& places);

  // shared: with an alarm that rings while the place is destroyed.
  struct Call {
    Mutex mutex;
    grpc::ServerContextBase* context ABSL_GUARDED_BY(mutex) = nullptr;
  };

  StreamPlaces& places_;
  const bool admitted_;
  const std::shared_ptr<Call> call_;    // shared: see Call.
  std::unique_ptr<grpc::Alarm> alarm_;  // While the other side is awaited.
};

}  // namespace noisefloor
