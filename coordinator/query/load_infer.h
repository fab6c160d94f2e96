// From the rows of an inference, and of the sweep whose weights it has, to what changes on the way.
#pragma once

#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/study_rows.h"
#include "coordinator/report/infer_study.h"

namespace noisefloor::query {

struct InferRows {
  StudyRows here;
  StudyRows trained;
  std::vector<report::InferLink> links;  // Of each member of `here`.
};

// `sweep` is of kind `infer`. SQLite's exceptions pass through.
absl::StatusOr<InferRows> ReadInferRows(SQLite::Database& database, uint64_t sweep);

// Maps the predictions of both. What is missing or damaged is a warning.
report::InferStudy LoadInfer(InferRows rows, const inputs::FindFile& find);

}  // namespace noisefloor::query
