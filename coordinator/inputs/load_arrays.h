// Everything a study is made of: the arrays of a source, mapped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "coordinator/inputs/study_files.h"
#include "coordinator/inputs/study_source.h"

namespace noisefloor::inputs {

// `input` views memory that `files` owns. Move-only.
struct LoadedStudy {
  report::StudyInput input;
  StudyFiles files;
  std::vector<report::Warning> warnings;  // The source's, then what was left out here.
  std::vector<absl::Status> faults;       // Why that was left out.
};

// Never fails: a file that is missing, changed or no such array is left out with a warning that
// names the member and the file.
LoadedStudy LoadArrays(StudySource source, FindFile find);

// Its study, with what was left out in front of its own warnings.
report::Study BuildStudy(const LoadedStudy& loaded);

// Names of the classes of a known data set; empty for others.
std::vector<std::string> ClassNames(std::string_view data_set);

}  // namespace noisefloor::inputs
