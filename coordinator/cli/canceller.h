// Ends a stream that is read when a signal comes.
#pragma once

#include <thread>

#include "grpcpp/client_context.h"

namespace noisefloor::cli {

// Cancels a call when one of two files becomes readable (-1: none). A thread of its own until
// destroyed, which is before the call.
class Canceller {
 public:
  Canceller(grpc::ClientContext& call, int first, int second);
  ~Canceller();
  Canceller(const Canceller&) = delete;
  Canceller& operator=(const Canceller&) = delete;

 private:
  const int done_;
  std::thread thread_;
};

}  // namespace noisefloor::cli
