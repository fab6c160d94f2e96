// Weights of members, each opened when it is first looked at. Internal to this folder.
#pragma once

#include <optional>

#include "coordinator/inputs/load_arrays.h"

namespace noisefloor::inputs {

// Those of the end.
void LoadWeights(const std::optional<InputFile>& file, report::MemberInput& member,
                 LoadedStudy& study);

// Of members that are done those after each evaluation, where they were kept; none where they are
// more than a study looks at, which it says.
void LoadWeightsOnTheWay(const StudySource& source, LoadedStudy& study);

}  // namespace noisefloor::inputs
