// Hardware classes compared, or stacks, all else equal. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each two hardware classes at each plan and point of the axes, over all blocks; without
// tests and words (shift_tests.h, comparison_words.h). Where a class has several stacks, cells of
// equal stack are compared; else the mix is marked. Or one for each two stacks on one class.
//
// n counts independent draws of the seeded sources (ReplicatesAreDraws in pairing.h): each pair of
// replicates, or each block, whose figure is then a mean over its pairs.
std::vector<Comparison> BuildComparisons(const Gathered& gathered, Factor factor);

}  // namespace noisefloor::report
