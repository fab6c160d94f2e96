// absl::Status to and from grpc::Status. The codes have equal numbers; the mistakes found in a
// sweep (BadSweep) travel as the status details. Thread-safe; pure.
#pragma once

#include <optional>

#include "grpcpp/support/status.h"

#include "common/base/status.h"
#include "noisefloor/v1/common.pb.h"

namespace noisefloor {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

// An InvalidArgument that carries the mistakes; its message is the first of them, with the count of
// the others. `bad_sweep` has at least one.
absl::Status BadSweepError(const v1::BadSweep& bad_sweep);
// What BadSweepError put in, also after ToGrpc and FromGrpc; nothing for any other status.
std::optional<v1::BadSweep> BadSweepOf(const absl::Status& status);

}  // namespace noisefloor
