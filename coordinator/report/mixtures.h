// Whether members that are compared with each other ran on the same software. Internal to this
// folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Appends to study.warnings: an error for a cohort that mixes software, a warning for cells or
// sides of a comparison that differ in it. Reads study.cohorts and study.hardware.
void WarnOfMixtures(const Gathered& gathered, Study& study);

}  // namespace noisefloor::report
