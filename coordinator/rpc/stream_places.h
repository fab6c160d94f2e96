// How many streams of one kind may be open, and how long one of them may keep us waiting.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/server_context.h"

#include "common/base/status.h"
#include "coordinator/rpc/call_patience.h"

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
  void Await() { patience_.Start(places_.idle); }
  void AwaitNoMore() { patience_.Stop(); }

 private:
  static bool Take(StreamPlaces& places);

  StreamPlaces& places_;
  const bool admitted_;
  CallPatience patience_;
};

}  // namespace noisefloor
