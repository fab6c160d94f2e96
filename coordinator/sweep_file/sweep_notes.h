// What a sweep file does not say, or says in vain: nothing wrong, yet often not what was meant.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "noisefloor/v1/sweep.pb.h"

namespace noisefloor::sweep_file {

// Defaults of the model and the data, values that an axis overrides, milestones never reached.
std::vector<std::string> NotesOn(const v1::Sweep& sweep);
// Whether it is for trainers that we ship: then we know what its settings mean.
bool IsForOurs(const v1::Sweep& sweep);

}  // namespace noisefloor::sweep_file
