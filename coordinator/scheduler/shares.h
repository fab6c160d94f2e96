// Owners of sweeps, and what each is to get of the fleet.
#pragma once

#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Where the owner is in State::owners; made when nobody of that name is known.
uint32_t NumberOfOwner(State& state, const std::string& name);
// From the next lease on; the store's row is the caller's. The logarithm of who waits, a queue.
void SetOwnerWeight(State& state, const std::string& name, uint32_t weight);

}  // namespace noisefloor::scheduler
