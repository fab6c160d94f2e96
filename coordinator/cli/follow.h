// Following a sweep to its end through WatchSweep: resumes by token after a lost connection.
#pragma once

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

struct FollowSettings {
  const StopSignal* stop = nullptr;  // Must be there; a signal ends the following.
  int also_stop_on = -1;             // A file: readable = stop.
  bool quiet = false;                // Progress and trouble on standard error only (`run`);
                                     // else every event on standard output (`watch`).
};

// The last counts that were seen: of the ended sweep, or of the moment of stopping.
absl::StatusOr<v1::SweepSummary> FollowSweep(Context& context, Connection& connection,
                                             uint64_t sweep, const FollowSettings& settings);

}  // namespace noisefloor::cli
