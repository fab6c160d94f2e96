// Everything a study is made of: the arrays of a source, mapped.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/inputs/digest.h"
#include "coordinator/inputs/study_files.h"
#include "coordinator/inputs/study_source.h"

namespace noisefloor::inputs {

// What is known of the logits of a file without reading it; see digest.h.
using FindDigest = std::function<absl::StatusOr<Digest>(const InputFile& file)>;

// `input` views memory that `files` owns, and files that are opened when they are asked for: one
// thread at a time. Move-only.
struct LoadedStudy {
  report::StudyInput input;
  std::unique_ptr<StudyFiles> files;                   // Never null.
  std::unique_ptr<std::vector<report::Warning>> late;  // Of what could not be opened then.
  std::vector<report::Warning> warnings;               // The source's, then what was left out here.
  std::vector<absl::Status> faults;                    // Why that was left out.
};

// Never fails: a file that is missing, changed or no such array is left out with a warning that
// names the member and the file.
// Weights are opened by the figures that need them; with `digests`, which answers come from then,
// logits are, too.
LoadedStudy LoadArrays(StudySource source, FindFile find, const FindDigest& digests = nullptr);

// Its study, with what was left out in front of its own warnings.
report::Study BuildStudy(const LoadedStudy& loaded);

// Names of the classes of a known data set; empty for others.
std::vector<std::string> ClassNames(std::string_view data_set);

}  // namespace noisefloor::inputs
