// A resolved sweep as a person would submit it. Pure.
#pragma once

#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

// A request that resolves to the same sweep: settings that are not defaults, built-in plans by
// name, hardware as the classes that it was resolved to.
sweep::SweepRequest AsSubmitted(const sweep::Sweep& sweep);

}  // namespace noisefloor::query
