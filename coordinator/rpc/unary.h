// Calls with one answer.
#pragma once

#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"

#include "common/rpc/status.h"

namespace noisefloor {

using Unary = grpc::ServerUnaryReactor;

// Ends the call so; the same reactor, for handlers to return.
inline Unary* FinishWith(Unary* reactor, const absl::Status& status) {
  reactor->Finish(ToGrpc(status));
  return reactor;
}

}  // namespace noisefloor
