// What was promised to be equal, and what was let go and did nothing. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each control cohort.
std::vector<ControlCheck> BuildControls(const Gathered& gathered);

// One for each cohort whose only free sources are physical.
std::vector<PhysicalCheck> BuildPhysical(const Gathered& gathered);

}  // namespace noisefloor::report
