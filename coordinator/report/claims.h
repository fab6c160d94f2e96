// What may be claimed of a study: its tests share one level. Internal to this folder.
//
// One Holm (weighted: Holm 1979) over the tests of shifts of the mean answer, each of all sides of
// a setting at once, and of contrasts, so that of studies of nothing at most 5 % claim anything of
// these. Two thirds of the level are for shifts by hardware or stack, one for contrasts: the first
// are few, and the least p of six replicates on two classes, 1/32, is below two thirds of 5 %; the
// second are many. What one kind does not need goes over to the other.
//
// Behind it a second one, over each two of three or more sides, of all plans, of hardware and
// stacks together: where some sides differ, at most 5 % claim falsely that two others do, beside
// the first. Such a claim needs that of all sides of its setting, too, so that of studies of
// nothing no more than before claim anything.
#pragma once

#include <cstdint>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// The level that the tests of shifts by one factor can count on: where hardware and stacks are
// compared, half for each. Of a study with its comparisons and contrasts.
double LevelOfShifts(const Study& study);

// Sets p_holm and `shown` of all tests, and what is said of them in words.
void CorrectClaims(Study& study);

// How many were corrected together.
int64_t TestsOf(const Study& study);

}  // namespace noisefloor::report
