// What the database says of one sweep, as a study wants it; files not yet opened.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/inputs/study_source.h"
#include "coordinator/report/study.h"
#include "coordinator/sweep/sweep.h"

namespace noisefloor::query {

// An evaluation set and the files that hold its images and labels.
struct EvaluationRows {
  sweep::EvaluationKey key;
  std::vector<inputs::InputFile> files;
};

struct StudyRows {
  report::StudyInput input;  // Without predictions, weights, sets' contents.
  std::vector<std::vector<inputs::InputFile>> files;    // Of the accepted attempt of each member.
  std::map<uint32_t, sweep::EvaluationKey> evaluation;  // Of each cell.
  std::map<uint32_t, Json> axes;                        // Of each cell: {path: value, ...}.
  std::map<std::string, std::string> identities;        // Pinned identity of each data set.
  std::vector<EvaluationRows> evaluation_sets;  // Places are those of CellInput::evaluation.
  std::vector<report::Warning> warnings;        // Of what was left out.
};

// NotFound when there is no such sweep. SQLite's exceptions pass through: the caller catches.
absl::StatusOr<StudyRows> ReadStudyRows(SQLite::Database& database, uint64_t sweep);

}  // namespace noisefloor::query
