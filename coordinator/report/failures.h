// Why members failed, in words.
#pragma once

#include <string>
#include <vector>

#include "coordinator/report/study.h"

namespace noisefloor::report {

// "data: the file is truncated"; "" when it did not fail.
std::string FailureOf(const MemberInput& member);

// A warning for each reason, with how many members ended so; those of the most come first.
void AddFailures(const StudyInput& input, std::vector<Warning>& warnings);

}  // namespace noisefloor::report
