// How trainings part, where predictions or weights of every evaluation were kept. Internal to this
// folder.
#pragma once

#include <vector>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Of each cell with two members that are done and have answers or weights at an evaluation, then of
// each comparison of hardware or stacks with such a pair. Warns of weights that are too many to be
// looked at.
std::vector<Trajectory> BuildTrajectories(const Gathered& gathered,
                                          const std::vector<Comparison>& hardware,
                                          const std::vector<Comparison>& stacks,
                                          std::vector<Warning>& warnings);

}  // namespace noisefloor::report
