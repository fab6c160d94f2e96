#include "coordinator/query/infer_source.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "coordinator/query/member_selected.h"
#include "coordinator/query/replay_source.h"
#include "coordinator/query/sweep_rows.h"

namespace noisefloor::query {

namespace {

// Of members that are done: the weights of their accepted attempts, those at the end after those on
// the way.
class WeightsReader {
 public:
  WeightsReader(SQLite::Database& database, const BlobStore& blobs)
      : row_(
            database,
            "SELECT f.sha256, f.size_bytes FROM member m JOIN lease l USING (sweep, cell, "
            "replicate) JOIN attempt a USING (lease) LEFT JOIN artifact f ON f.lease = l.lease AND "
            "f.kind = 'weights' AND f.collected_us IS NULL WHERE m.sweep = ? AND m.cell = ? AND "
            "m.replicate = ? AND m.state = 'done' AND a.accepted = 1 ORDER BY f.path DESC LIMIT 1"),
        blobs_(blobs) {}

  // Nothing: it is not done, or, where `wanted`, its weights are not there.
  std::optional<sweep::GivenWeights> Of(const MemberId& member, bool wanted) {
    row_.reset();
    row_.bind(1, static_cast<int64_t>(member.sweep.value));
    row_.bind(2, member.cell);
    row_.bind(3, member.replicate);
    if (!row_.executeStep()) return std::nullopt;
    sweep::GivenWeights given = {.replicate = member.replicate};
    if (!wanted) return given;
    if (row_.getColumn(0).isNull()) return std::nullopt;
    given.sha256 = row_.getColumn(0).getString();
    given.size_bytes = static_cast<uint64_t>(row_.getColumn(1).getInt64());
    if (!blobs_.Has({given.sha256, given.size_bytes})) return std::nullopt;
    return given;
  }

 private:
  SQLite::Statement row_;
  const BlobStore& blobs_;
};

// With its pins.
absl::StatusOr<sweep::InferSource> SourceOf(SQLite::Database& database, const sweep::Sweep& content,
                                            SweepId sweep, sweep::Cell cell) {
  SQLite::Statement row(database, "SELECT hardware, stack FROM cell WHERE sweep = ? AND cell = ?");
  row.bind(1, static_cast<int64_t>(sweep.value));
  row.bind(2, cell.index);
  if (!row.executeStep()) return NoSweep(sweep.value, "its cell is not there");
  cell.hardware = row.getColumn(0).getString();
  cell.stack = row.getColumn(1).getString();
  sweep::InferSource source;
  source.identity = IdentityOf(database, sweep, sweep::CellDataSet(content, cell));
  source.cell = std::move(cell);
  return source;
}

absl::Status CheckTrains(const sweep::Sweep& content, SweepId sweep) {
  if (content.kind == sweep::Kind::kTrain) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{} is of kind {}: expected a sweep that trains", ToText(sweep),
                               Name(content.kind)));
}

}  // namespace

absl::StatusOr<bool> CheckIsInferred(SQLite::Database& database, const std::string& sha256) {
  SQLite::Statement row(database,
                        "SELECT 1 FROM inference i JOIN sweep s USING (sweep) WHERE i.sha256 = ? "
                        "AND s.deleted_us IS NULL LIMIT 1");
  row.bind(1, sha256);
  if (row.executeStep()) return true;
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("no inference evaluates weights {}", sha256));
}

absl::StatusOr<InferSources> FindInferSources(SQLite::Database& database,
                                              const InferQuestion& question,
                                              const BlobStore& blobs) {
  InferSources sources;
  NF_ASSIGN_OR_RETURN(Definition definition, ReadDefinition(database, question.sweep.value));
  sources.sweep = std::move(definition.sweep);
  NF_RETURN_IF_ERROR(CheckTrains(sources.sweep, question.sweep));
  const MemberQuestion asked = {.sweep = question.sweep, .selection = question.selection};
  NF_RETURN_IF_ERROR(CheckSelection(database, asked));
  const std::vector<sweep::Cell> cells = sweep::Expand(sources.sweep);
  WeightsReader weights(database, blobs);
  // Of the cells that are there: with each a network and its test set.
  std::set<decltype(sweep::Cell::axes)> settings;
  for (const MemberId& member :
       FindSelected(database, asked, std::nullopt, std::numeric_limits<size_t>::max())) {
    const bool same_cell = !sources.cells.empty() && sources.cells.back().cell.index == member.cell;
    if (!question.own_weights && settings.contains(cells.at(member.cell).axes)) continue;
    std::optional<sweep::GivenWeights> given = weights.Of(member, question.own_weights);
    if (!given) {
      ++sources.left_out;
      continue;
    }
    if (!same_cell) {
      NF_ASSIGN_OR_RETURN(sweep::InferSource source,
                          SourceOf(database, sources.sweep, question.sweep, cells.at(member.cell)));
      settings.insert(source.cell.axes);
      sources.cells.push_back(std::move(source));
    }
    sources.cells.back().weights.push_back(*std::move(given));
  }
  if (!sources.cells.empty()) return sources;
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{}: none of the members asked for is done and has its weights",
                               ToText(question.sweep)));
}

}  // namespace noisefloor::query
