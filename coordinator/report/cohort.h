// The result of one cell: its members compared with each other. Internal to this folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

Cohort BuildCohort(const Gathered& gathered, const CellFacts& cell);

}  // namespace noisefloor::report
