// What a sweep will tell of where its noise comes from, before anything is trained.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

// A sentence for all plans whose physical sources are in one state, where their members share some
// draws and not others: which sources have which share. Nothing of sweeps without such plans.
// `idle`: sources that act on nothing.
std::vector<std::string> PlannedShares(const sweep::Sweep& sweep,
                                       const std::set<NoiseSource>& idle);

}  // namespace noisefloor::query
