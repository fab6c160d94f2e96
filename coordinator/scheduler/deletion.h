// Sweeps that people delete. They go at once for everybody who asks; what was known of their leases
// is forgotten in pieces.
#pragma once

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// The next piece, of as many members as Options::most_at_once times a few.
void ForgetRemoved(Turn& turn);

}  // namespace noisefloor::scheduler
