// Which classes of the data set, and which groups of its examples, pay most? Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of the plan that frees the most seeded sources (the first of them), over its cells on the first
// such evaluation set that are not under-trained. One statement for a study, so that it holds at
// 95 % for the study. Without text where there is nothing to say.
WorstClasses BuildWorstClasses(const Gathered& gathered);

// Likewise of each column of groups, all of them together at 95 %.
std::vector<WorstClasses> BuildWorstGroups(const Gathered& gathered);

}  // namespace noisefloor::report
