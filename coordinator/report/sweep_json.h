// What was asked for, as the JSON of a study and of what it is made of has it.
#pragma once

#include "coordinator/report/json_values.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::report {

Json SweepToJson(const SweepInput& sweep);

}  // namespace noisefloor::report
