// Everything a study is made of, from rows and files.
#pragma once

#include <vector>

#include "coordinator/query/study_files.h"
#include "coordinator/query/study_rows.h"
#include "coordinator/report/study.h"

namespace noisefloor::query {

// `input` views memory that `files` owns.
struct LoadedStudy {
  report::StudyInput input;
  StudyFiles files;
  std::vector<report::Warning> warnings;  // What is missing or damaged and was left out.
};

// Never fails: a file that is missing, changed or no such array is left out with a warning that
// names the member and the file.
LoadedStudy LoadStudy(StudyRows rows, const BlobStore& blobs);

// Names of the classes of a known data set; empty for others.
std::vector<std::string> ClassNames(std::string_view data_set);

}  // namespace noisefloor::query
