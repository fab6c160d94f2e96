// Waiting for a server that went away.
#pragma once

#include <functional>

#include "absl/time/time.h"
#include "grpcpp/channel.h"

namespace noisefloor {

// True as soon as a connection stands; false after `patience`, or when `stopped` says so, which is
// asked every tenth of a second. Tries again every quarter of a second: by itself gRPC waits up to
// two between tries, and does nothing in between for a client that waits for no call, so that it
// finds a server up to five seconds late. Any thread.
bool WaitUntilConnectedAgain(grpc::Channel& channel, absl::Duration patience,
                             const std::function<bool()>& stopped);

}  // namespace noisefloor
