// What must hold after every Step; the list is in README.md.
#pragma once

#include <string>
#include <vector>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Broken ones in words; empty when all hold. Looks at everything: slow.
std::vector<std::string> CheckInvariants(const State& state);

}  // namespace noisefloor::scheduler
