// Giving a sweep file to the coordinator, with mistakes it finds shown at their place in the file.
#pragma once

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/sweep_file.h"

namespace noisefloor::cli {

absl::StatusOr<v1::PlanSweepResponse> PlanSweep(Connection& connection, const SweepFile& file);
// Safe against "timed out, did it go in?": carries a request id of its own.
absl::StatusOr<v1::SubmitSweepResponse> SubmitSweep(const Context& context, Connection& connection,
                                                    const SweepFile& file, bool resume);

}  // namespace noisefloor::cli
