// What to do about the noise of a study, each sentence with the figures that it rests on. Internal
// to this folder.
#pragma once

#include <string>
#include <vector>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of a study with everything else built. None while members are still to come, nor of cells that
// are under-trained or were not trained at all. What is not decided is said to be so, or nothing.
std::vector<std::string> BuildGuidelines(const Study& study);

}  // namespace noisefloor::report
