// How long members take to reach the accuracy that is known to be reached. Internal to this folder.
#pragma once

#include <string>

#include "coordinator/analysis/estimate.h"
#include "coordinator/report/gather.h"

namespace noisefloor::report {

// "70 %"
std::string TargetText(double target);

// Epochs until test top-1 is first at or above the sweep's reference_accuracy, as far as the
// evaluations tell: the mean over members with Student's t. Absent where there is no reference, or
// where a member that has ended, diverged ones among them, never got there: of those that did the
// mean would be too low.
analysis::Estimate EpochsToTarget(const Gathered& gathered, const CellFacts& cell);

}  // namespace noisefloor::report
