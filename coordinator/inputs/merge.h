// One study of what several coordinators have trained, who need not have met: as if a single one
// had had all of their workers. Pure.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/inputs/study_source.h"

namespace noisefloor::inputs {

struct Site {
  std::string name;  // For messages: "lab1".
  StudySource source;
};

struct MergeOptions {
  // Where two sites have other results for the same draws on the same class, the first site's
  // stands, with a warning. Without it that is an error.
  bool keep_first = false;
};

// Cells of equal axes, plan, hardware, stack and block become one, in the order in which a sweep
// that names all of it would have had them; members are numbered anew, under the first site's
// sweep. Where two sites have the same replicate, a result stands before none, and equal bits of a
// second one are one more check of bits.
//
// What cannot be one study is FailedPrecondition, with every conflict in words, a line each:
// another seed (equal lanes would be other draws), another setting, axis, rule of a plan or
// reference accuracy; other test data; other software on the same cell; other results of the same
// draws.
absl::StatusOr<StudySource> Merge(std::vector<Site> sites, const MergeOptions& options = {});

}  // namespace noisefloor::inputs
