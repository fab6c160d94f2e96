#include "coordinator/query/replay_source.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "SQLiteCpp/Statement.h"

#include "common/base/reason.h"
#include "coordinator/store/sweep_json.h"

namespace noisefloor::query {

namespace {

absl::Status None(const MemberId& member) {
  return Because(MakeError(absl::StatusCode::kNotFound, ToText(member) + ": no such member"),
                 Reason::kMemberNotFound, {{"member", ToText(member)}});
}

absl::StatusOr<sweep::Sweep> DefinitionOf(SQLite::Database& database, const MemberId& member) {
  SQLite::Statement row(database,
                        "SELECT definition FROM sweep WHERE sweep = ? AND deleted_us IS NULL");
  row.bind(1, static_cast<int64_t>(member.sweep.value));
  if (!row.executeStep()) return None(member);
  return SweepFromJson(row.getColumn(0).getString());
}

absl::Status CheckHasEnded(SQLite::Database& database, const MemberId& member) {
  SQLite::Statement row(database,
                        "SELECT state FROM member WHERE sweep = ? AND cell = ? AND replicate = ?");
  row.bind(1, static_cast<int64_t>(member.sweep.value));
  row.bind(2, member.cell);
  row.bind(3, member.replicate);
  const std::string state = row.executeStep() ? row.getColumn(0).getString() : "waiting";
  if (state == "done" || state == "diverged") return absl::OkStatus();
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("{} is {}: expected a member that is done or diverged", ToText(member), state));
}

}  // namespace

std::string IdentityOf(SQLite::Database& database, SweepId sweep, const std::string& data_set) {
  SQLite::Statement row(database,
                        "SELECT identity FROM sweep_data WHERE sweep = ? AND data_set = ?");
  row.bind(1, static_cast<int64_t>(sweep.value));
  row.bind(2, data_set);
  return row.executeStep() ? row.getColumn(0).getString() : "";
}

absl::StatusOr<ReplaySource> FindReplaySource(SQLite::Database& database, const MemberId& member) {
  ReplaySource source;
  NF_ASSIGN_OR_RETURN(source.sweep, DefinitionOf(database, member));
  std::vector<sweep::Cell> cells = sweep::Expand(source.sweep);
  if (member.cell >= cells.size() || member.replicate >= cells[member.cell].replicates) {
    return None(member);
  }
  if (source.sweep.inference) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} trains nothing: it evaluates weights of {}", ToText(member),
                                 ToText(source.sweep.inference->sweep)));
  }
  if (source.sweep.kind == sweep::Kind::kMeasure) {
    return MakeError(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("{} is a measurement: it has no training to be repeated", ToText(member)));
  }
  if (source.sweep.subject) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} is itself a {} of {}", ToText(member), Name(source.sweep.kind),
                                 ToText(source.sweep.subject->member)));
  }
  NF_RETURN_IF_ERROR(CheckHasEnded(database, member));
  source.cell = std::move(cells[member.cell]);
  SQLite::Statement row(database, "SELECT hardware, stack FROM cell WHERE sweep = ? AND cell = ?");
  row.bind(1, static_cast<int64_t>(member.sweep.value));
  row.bind(2, member.cell);
  if (!row.executeStep()) return None(member);
  source.cell.hardware = row.getColumn(0).getString();
  source.cell.stack = row.getColumn(1).getString();
  source.identity =
      IdentityOf(database, member.sweep, sweep::CellDataSet(source.sweep, source.cell));
  return source;
}

}  // namespace noisefloor::query
