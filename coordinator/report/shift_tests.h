// Exact tests of whether the hardware class, or the stack, shifts the mean answer. Internal to this
// folder.
//
// One test for each plan at each point of the axes, of all its classes of one stack at once. Then
// one for each two of them, claimed only where the test of all is, too. Classes whose stacks differ
// as well are not tested.
#pragma once

#include <vector>

#include "coordinator/analysis/exchange.h"
#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// A test on its way to becoming a claim.
struct ShiftCandidate {
  ShiftClaim* claim = nullptr;
  int64_t sides = 2;
  std::vector<int64_t> replicates;
  analysis::Exchange exchange = analysis::Exchange::kWithinReplicates;
};

// Those of a family that cannot be claimed at all at the level are told why.
void NoteWhatCannotBeClaimed(const std::vector<ShiftCandidate>& family, double level);

// Also sets `shift` of the comparisons, and which test theirs rests on. Plans whose sources are all
// fixed have no test: their bits are equal or they are not. `level`: of all these tests; what
// cannot be claimed at it has a note. Adds tests of two out of several sides to `of_several`, which
// are one family for both factors. The rest waits for CorrectClaims.
std::vector<SettingTest> BuildShiftTests(const Gathered& gathered, Factor factor, double level,
                                         std::vector<Comparison>& comparisons,
                                         std::vector<ShiftCandidate>& of_several);

// Is a test of two sides of this setting one of several? Of two sides in all it is that of all.
bool IsOneOfSeveral(const SettingTest& all);

// A claim of two sides needs that of all sides of their setting: its p is not below that.
void HoldToAll(const SettingTest& all, Comparison& comparison);

}  // namespace noisefloor::report
