// The durable part of the state, to and from what the store keeps.
#pragma once

#include <memory>

#include "coordinator/scheduler/recovered.h"
#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Every lease of `recovered` names a member and a worker that are in it: the store has looked.
std::unique_ptr<State> RestoreState(const Options& options, const RecoveredState& recovered,
                                    absl::Time now);
RecoveredState DurableState(const State& state);

}  // namespace noisefloor::scheduler
