// Which test examples another class, or another stack, answers otherwise. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

inline constexpr size_t kMostSensitive = 20;

// Of each comparison whose replicates are draws, three or more, with predictions. Examples are
// tested where the comparison's shift of the mean answer is shown, so that a study of nothing finds
// none more often than it claims a shift; of those that are found 5 % are expected to be false.
std::vector<SensitiveExamples> BuildSensitive(const Gathered& gathered,
                                              const std::vector<Comparison>& comparisons);

}  // namespace noisefloor::report
