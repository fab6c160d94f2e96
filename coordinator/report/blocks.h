// Blocks set beside each other. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each group of at least two cohorts that differ in their block only.
std::vector<BlockSummary> BuildBlocks(const Gathered& gathered, const std::vector<Cohort>& cohorts);

// A contrast sets the spreads of replicates against each other only where each is a draw of its
// own: of other cells none says which ratio can be seen. `cohorts`: those of gathered.cells.
void DropRatiosOfCopies(const Gathered& gathered, std::vector<Cohort>& cohorts);

}  // namespace noisefloor::report
