// An exported sweep, as what a study is made of.
#pragma once

#include <string>

#include "common/base/status.h"
#include "coordinator/inputs/load_arrays.h"

namespace noisefloor::inputs {

// The source in a folder that `noisefloor export` wrote, its files by paths that lead to them; no
// array is opened. InvalidArgument with the file and the place in it: of no such folder, and of
// paths that lead out of it, too.
absl::StatusOr<StudySource> ReadSource(const std::string& folder);

// Of a source with such paths: refuses files whose bytes are not the hash's.
absl::StatusOr<std::string> FindExported(const InputFile& file);

// Are all of them there, and what their hashes say?
absl::Status CheckFiles(const StudySource& source);

// Of files whose bytes were compared with their hashes already.
inline absl::StatusOr<std::string> FindChecked(const InputFile& file) { return file.path; }

// A source with its arrays: those that it names and that are missing, damaged or of another shape
// are errors.
absl::StatusOr<LoadedStudy> LoadWhole(StudySource source, FindFile find);

// Likewise of a folder that export wrote.
absl::StatusOr<LoadedStudy> ReadExport(const std::string& folder);

}  // namespace noisefloor::inputs
