// An exported sweep, as what a study is made of.
#pragma once

#include <deque>
#include <string>

#include "common/base/status.h"
#include "common/files/npy.h"
#include "coordinator/report/study_input.h"

namespace noisefloor::exports {

// `input` views memory that the rest owns. Move-only.
struct ExportedStudy {
  report::StudyInput input;
  std::deque<NpyView> arrays;
  std::deque<std::vector<float>> decisions;  // Logits of attributes, as those of no and yes.
};

// Of a folder that `noisefloor export` wrote: members, cells, sweep, labels and predictions at the
// end; no curves, weights, images or environments. NotFound, InvalidInput or DataLoss with the file
// and the place in it.
absl::StatusOr<ExportedStudy> ReadExport(const std::string& folder);

}  // namespace noisefloor::exports
