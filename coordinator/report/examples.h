// The test examples on which members of one cohort disagree most, with their images: of the first
// evaluation set. Internal to this folder.
#pragma once

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

inline constexpr int64_t kMostExamples = 40;

DivergentExamples BuildExamples(const Gathered& gathered);

}  // namespace noisefloor::report
