// Training over time and churn between all members. Internal to this folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each cell and metric that has points. The mean and the band are over members that are
// done; diverged ones have their own line only. Long curves are thinned to some hundred points,
// the last among them; values are rounded to 7 digits.
std::vector<Curve> BuildCurves(const Gathered& gathered);

// At most this many members; beyond it low replicates of every cell go first.
inline constexpr int64_t kMostHeatMapMembers = 200;
HeatMap BuildHeatMap(const Gathered& gathered);

}  // namespace noisefloor::report
