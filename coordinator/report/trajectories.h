// How churn grows over training, where predictions of every evaluation were kept. Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of each cell with two members that are done and have answers at an evaluation, then of each
// comparison of hardware or stacks with such a pair.
std::vector<Trajectory> BuildTrajectories(const Gathered& gathered,
                                          const std::vector<Comparison>& hardware,
                                          const std::vector<Comparison>& stacks);

}  // namespace noisefloor::report
