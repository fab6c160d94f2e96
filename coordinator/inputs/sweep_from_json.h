// What was asked for, read back from the JSON of a study's input. Internal to this folder.
#pragma once

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::inputs {

// InvalidArgument with the place.
absl::Status ReadSweep(const Json& json, report::SweepInput& sweep);

}  // namespace noisefloor::inputs
