// Cells whose members are not what their intervals take them for: one lies far from the others, so
// that their spread is not that of normal values; some are copies. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"

namespace noisefloor::report {

// A warning for each such cell. Of studies of normal values at most 1 % have one: Grubbs' test,
// divided by the number of cells (Bonferroni).
void AddOutliers(const Gathered& gathered, std::vector<Warning>& warnings);

// A warning for each cell of which members have equal logits, by their hash, though they have other
// draws of what its plan frees.
void AddCopies(const Gathered& gathered, std::vector<Warning>& warnings);

}  // namespace noisefloor::report
