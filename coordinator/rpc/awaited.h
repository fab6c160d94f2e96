// Calls that wait their turn.
#pragma once

#include <string_view>

#include "grpcpp/server_context.h"

#include "common/base/status.h"
#include "coordinator/loop/event_loop.h"

namespace noisefloor {

// DeadlineExceeded when the call's deadline has passed or its caller has gone: then it need not be
// run. For what waits its turn; any thread, while the call lives.
absl::Status StillAwaited(const grpc::CallbackServerContext& context);

// The same for a call that is handed to the loop, which asks until it has decided it.
CallAwaited WhileAwaited(const grpc::CallbackServerContext& context);

// ResourceExhausted: more `what` wait than may. "reads"
absl::Status TooManyWait(std::string_view what);

}  // namespace noisefloor
