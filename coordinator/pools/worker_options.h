// With what the workers of a pool are started.
#pragma once

#include <string>
#include <vector>

#include "coordinator/fleet/pool.h"

namespace noisefloor {

// Options of noisefloor-worker, those that the pool names last. `stays`: one that does not leave
// though nothing waits. A class that the pool asks for is offered, in slots of as many GPUs as it
// has, unless its own options say classes, a declared one or GPUs of a slot.
std::vector<std::string> WorkerOptions(const fleet::PoolWish& wish, bool stays);

}  // namespace noisefloor
