// Checkpoints that nobody has come back for.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace noisefloor::trainer {

// Of members that were cancelled, or ended elsewhere: removes each member's folder (32 hexadecimal
// digits) in `base` of which nothing was written for that long. `now`: wall time. The paths of
// what it removed. What cannot be looked at or removed is left.
std::vector<std::string> RemoveStaleCheckpoints(const std::string& base, absl::Time now,
                                                absl::Duration age = absl::Hours(14 * 24));

}  // namespace noisefloor::trainer
