// What ran where, and everything a reader has to know before believing a figure. Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One row for each hardware class on which a member ran.
std::vector<EnvironmentRow> BuildEnvironment(const Gathered& gathered);

// Appends to study.warnings; reads the rest of the study, which must be complete.
void AddWarnings(const Gathered& gathered, Study& study);

}  // namespace noisefloor::report
