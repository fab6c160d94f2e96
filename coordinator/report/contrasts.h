// Does it matter which value an axis has, which plan, which class, which stack? Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study_contrast.h"

namespace noisefloor::report {

// Every value of an axis against the first, every two noisy plans, every two hardware classes,
// every two stacks: churn, mean and spread of top-1, each the mean over all settings that have both
// sides, draw by draw. Their tests wait for CorrectClaims. Controls, cells whose members share
// draws, and sides that were tested on other examples are in none.
std::vector<Contrast> BuildContrasts(const Gathered& gathered);

}  // namespace noisefloor::report
