// How many replicates a study takes, as its sweep's `until` asks; and its intervals while it grows.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "coordinator/report/study_input.h"

namespace noisefloor::report {

struct Enough {
  std::map<std::string, uint32_t> replicates;  // Of the plans that take more than they have.
  std::string text;  // What was decided of each plan, and why: "algo takes 34 replicates: ...".
};

// Of a study whose sweep has an `until` that is not settled, and whose members have ended. Of each
// plan what its widest cell takes, by Stein's rule. Where a cell has too few results, or members
// were cancelled, the plan takes no more.
Enough DecideUntil(const StudyInput& input);

}  // namespace noisefloor::report
