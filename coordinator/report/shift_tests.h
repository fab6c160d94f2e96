// Exact tests of whether the hardware class, or the stack, shifts the mean answer. Internal to this
// folder.
//
// One test for each plan at each point of the axes, of all its classes at once, corrected by Holm
// over all of these of the study. Then one for each two classes, corrected by Holm over all of the
// plan, and claimed only where the test of all classes is, too: of studies whose hardware never
// matters at most 5 % claim anything. So it is for stacks, which are a family of their own.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Also sets `shift` of the comparisons. Plans whose sources are all fixed have no test: their bits
// are equal or they are not.
std::vector<SettingTest> BuildShiftTests(const Gathered& gathered, Factor factor,
                                         std::vector<Comparison>& comparisons);

}  // namespace noisefloor::report
