// Ensembles of the members of a cell, and of two. Internal to this folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// `study` has its cohorts and comparisons.
Ensembles BuildEnsembles(const Gathered& gathered, const Study& study);

}  // namespace noisefloor::report
