// Cells of which one member lies far from the others: their spread is not that of normal values.
// Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"

namespace noisefloor::report {

// A warning for each such cell. Of studies of normal values at most 1 % have one: Grubbs' test,
// divided by the number of cells (Bonferroni).
void AddOutliers(const Gathered& gathered, std::vector<Warning>& warnings);

}  // namespace noisefloor::report
