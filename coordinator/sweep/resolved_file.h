// A resolved sweep as a sweep file that leaves nothing to a default. Pure.
#pragma once

#include <string>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::sweep {

// YAML that can be submitted again and then has the same specification hash: every setting, the
// states of every source, blocks and replicates of every plan, and the classes that `all` meant.
std::string ResolvedFile(const Sweep& sweep);

}  // namespace noisefloor::sweep
