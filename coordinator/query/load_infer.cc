#include "coordinator/query/load_infer.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/base/ids.h"
#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/study_source_of.h"

namespace noisefloor::query {

namespace {

// Weights and images are of no use here, and large.
inputs::LoadedStudy LoadPredictions(StudyRows rows, const inputs::FindFile& find) {
  inputs::StudySource source = SourceOf(std::move(rows));
  for (auto& member : source.members) member.weights.reset();
  for (auto& set : source.sets) set.images.reset();
  return inputs::LoadArrays(std::move(source), find);
}

void AddWarnings(const inputs::LoadedStudy& loaded, std::vector<std::string>& warnings) {
  for (const report::Warning& warning : loaded.warnings) {
    warnings.push_back(warning.subject + ": " + warning.text);
  }
}

}  // namespace

absl::StatusOr<InferRows> ReadInferRows(SQLite::Database& database, uint64_t sweep) {
  InferRows rows;
  NF_ASSIGN_OR_RETURN(rows.here, ReadStudyRows(database, sweep));
  SQLite::Statement row(
      database,
      "SELECT cell, replicate, of_sweep, of_cell, of_replicate, sha256, file FROM "
      "inference WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  struct Link {
    std::string trained;
    report::InferLink link;
  };
  std::map<std::string, Link> links;
  uint64_t of = 0;
  while (row.executeStep()) {
    const MemberId member = {SweepId{sweep}, row.getColumn(0).getUInt(),
                             row.getColumn(1).getUInt()};
    of = static_cast<uint64_t>(row.getColumn(2).getInt64());
    const MemberId trained = {SweepId{of}, row.getColumn(3).getUInt(), row.getColumn(4).getUInt()};
    links[ToText(member)] = {
        ToText(trained),
        {std::nullopt, row.getColumn(5).getString(), row.getColumn(6).getString()}};
  }
  absl::StatusOr<StudyRows> trained = ReadStudyRows(database, of);
  if (trained.ok()) {
    rows.trained = *std::move(trained);
  } else if (absl::IsNotFound(trained.status())) {
    rows.here.warnings.push_back(
        {"warning", ToText(SweepId{of}),
         "It is not there any more: what its members answered is not known."});
  } else {
    return trained.status();
  }
  std::map<std::string_view, size_t> places;
  for (size_t m = 0; m < rows.trained.input.members.size(); ++m) {
    places[rows.trained.input.members[m].id] = m;
  }
  for (const report::MemberInput& member : rows.here.input.members) {
    Link& link = links[member.id];
    const auto place = places.find(link.trained);
    if (place != places.end()) link.link.trained = place->second;
    rows.links.push_back(std::move(link.link));
  }
  return rows;
}

report::InferStudy LoadInfer(InferRows rows, const inputs::FindFile& find) {
  const inputs::LoadedStudy here = LoadPredictions(std::move(rows.here), find);
  const inputs::LoadedStudy trained = LoadPredictions(std::move(rows.trained), find);
  report::InferStudy study = report::BuildInfer(here.input, trained.input, rows.links);
  AddWarnings(here, study.warnings);
  AddWarnings(trained, study.warnings);
  return study;
}

}  // namespace noisefloor::query
