// Trainings of others, by any program, as what a study is made of: a folder of their answers and a
// table that says what each run was.
#pragma once

#include <string>

#include "common/base/status.h"
#include "coordinator/inputs/study_source.h"

namespace noisefloor::inputs {

// The form of the folder is README.md's, "Runs of others". Files are by paths that lead to them.
// InvalidArgument or NotFound with the file and the line: of what is missing, says two things or
// leads out of the folder.
absl::StatusOr<StudySource> ReadRuns(const std::string& folder);

}  // namespace noisefloor::inputs
