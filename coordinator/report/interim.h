// What a study says before all its members are there, and what it says when a pilot has decided how
// many they are. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "coordinator/report/gather.h"
#include "coordinator/report/study.h"

namespace noisefloor::report {

// Why nothing is tested yet.
inline constexpr char kTestedOnce[] = "it is tested once, when all members have ended";

// Whether `until` has yet to decide how many replicates the plan takes.
bool IsUndecided(const SweepInput& sweep, const std::string& plan);

// Of the values whose mean is the figure, over the replicates below `pilot`; nan below three.
struct PilotSpread {
  double spread = 0;
  int64_t n = 0;
};
PilotSpread SpreadOfPilot(const Gathered& gathered, const CellFacts& cell,
                          const std::string& figure, uint32_t pilot);

// Of an interim study, intervals of churn and top-1 that hold at every look; of one whose `until`
// is settled Stein's interval of its figure; else as they were.
void SetIntervals(const Gathered& gathered, const CellFacts& cell, Cohort& cohort);

// Of an interim study: no test of it counts yet.
void WithholdTests(Study& study);

}  // namespace noisefloor::report
