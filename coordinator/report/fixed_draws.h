// Where the draw that a plan holds lies among those that another plan frees. Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// One for each held draw whose mean top-1 lies outside that of all free draws at the same point of
// the axes, on the same class and stack and with the same sources off, where there are three or
// more of them. Top-1 is the mean over plans that hold every seeded source (or free every one) and
// members.
std::vector<FixedDraw> BuildFixedDraws(const Gathered& gathered);

}  // namespace noisefloor::report
