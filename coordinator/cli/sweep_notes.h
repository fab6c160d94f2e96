// What a sweep file does not say, or says in vain: nothing wrong, yet often not what was meant.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::cli {

// Defaults of the model and the data, values that an axis overrides, milestones never reached.
std::vector<std::string> NotesOn(const v1::Sweep& sweep);

}  // namespace noisefloor::cli
