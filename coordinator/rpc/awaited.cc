#include "coordinator/rpc/awaited.h"

namespace noisefloor {

// gRPC cancels a call whose deadline passes.
absl::Status StillAwaited(const grpc::CallbackServerContext& context) {
  if (!context.IsCancelled()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   "its deadline passed, or its caller went, before its turn came; it was not run");
}

}  // namespace noisefloor
