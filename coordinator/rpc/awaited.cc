#include "coordinator/rpc/awaited.h"

#include "fmt/format.h"

#include "common/base/reason.h"

namespace noisefloor {

// gRPC cancels a call whose deadline passes.
absl::Status StillAwaited(const grpc::CallbackServerContext& context) {
  if (!context.IsCancelled()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDeadlineExceeded,
                   "its deadline passed, or its caller went, before its turn came; it was not run");
}

CallAwaited WhileAwaited(const grpc::CallbackServerContext& context) {
  return [&context] { return StillAwaited(context); };
}

absl::Status TooManyWait(std::string_view what) {
  return Because(MakeError(absl::StatusCode::kResourceExhausted,
                           fmt::format("too many {} are waiting; try again", what)),
                 Reason::kTooBusy);
}

}  // namespace noisefloor
