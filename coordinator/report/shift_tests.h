// Exact tests of whether the hardware class, or the stack, shifts the mean answer. Internal to this
// folder.
//
// One test for each plan at each point of the axes, of all its classes at once. Then one for each
// two classes, claimed only where the test of all classes is, too.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Also sets `shift` of the comparisons, and which test theirs rests on. Plans whose sources are all
// fixed have no test: their bits are equal or they are not. `level`: of all these tests. What
// cannot be claimed at it has a note, and so has what of two sides cannot be at 5 % beside the
// others of this factor; the rest waits for CorrectClaims.
std::vector<SettingTest> BuildShiftTests(const Gathered& gathered, Factor factor, double level,
                                         std::vector<Comparison>& comparisons);

// Is a test of two sides of this setting one of several? Of two sides in all it is that of all.
bool IsOneOfSeveral(const SettingTest& all);

// A claim of two sides needs that of all sides of their setting: its p is not below that.
void HoldToAll(const SettingTest& all, Comparison& comparison);

}  // namespace noisefloor::report
