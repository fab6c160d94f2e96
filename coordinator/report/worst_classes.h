// Which classes of the data set pay most? Internal to this folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of the plan that frees the most seeded sources (the first of them), over its cells on the first
// such evaluation set that are not under-trained. One statement for a study, so that it holds at
// 95 % for the study. Without text where there is nothing to say.
WorstClasses BuildWorstClasses(const Gathered& gathered);

}  // namespace noisefloor::report
