// Taking workers and their devices out of use, and back into it.
#pragma once

#include "common/base/status.h"
#include "coordinator/cli/command.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::cli {

// Changes the worker as `change` says, and prints how it is then.
absl::StatusOr<int> ChangeWorker(Context& context, const v1::UpdateWorkerRequest& change);

}  // namespace noisefloor::cli
