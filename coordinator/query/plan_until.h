// What a sweep says `until` comes to, before anything is trained.
#pragma once

#include <string>
#include <vector>

#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

// A sentence for each plan of which `until` decides: how many its pilot has, how many it may come
// to, and up to which spread these are enough.
std::vector<std::string> PlannedUntil(const sweep::Sweep& sweep);

}  // namespace noisefloor::query
