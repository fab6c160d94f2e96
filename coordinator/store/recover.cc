#include "coordinator/store/recover.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "coordinator/store/sweep_json.h"

namespace noisefloor {

namespace {

using scheduler::RecoveredCell;
using scheduler::RecoveredMember;
using scheduler::RecoveredState;
using scheduler::RecoveredSweep;

uint64_t UnsignedAt(SQLite::Statement& row, int column) {
  return static_cast<uint64_t>(row.getColumn(column).getInt64());
}

// Sweep, cell and replicate in three columns from `column` on.
MemberId MemberAt(SQLite::Statement& row, int column) {
  return {SweepId{UnsignedAt(row, column)}, row.getColumn(column + 1).getUInt(),
          row.getColumn(column + 2).getUInt()};
}

absl::Status Unreadable(std::string_view what, std::string_view value) {
  return MakeError(absl::StatusCode::kInternal, "the store holds the unknown " + std::string(what) +
                                                    " \"" + std::string(value) + "\"");
}

uint64_t LargestOf(SQLite::Database& database, const char* sql) {
  return static_cast<uint64_t>(database.execAndGet(sql).getInt64());
}

absl::Status ReadSweeps(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, request_id, specification_sha256, definition FROM sweep "
                        "ORDER BY sweep");
  while (row.executeStep()) {
    RecoveredSweep& sweep = state.sweeps.emplace_back();
    sweep.id = SweepId{UnsignedAt(row, 0)};
    sweep.request_id = row.getColumn(1).getString();
    sweep.specification_sha256 = row.getColumn(2).getString();
    NF_ASSIGN_OR_RETURN(sweep.content, SweepFromJson(row.getColumn(3).getString()));
    for (sweep::Cell& cell : sweep::Expand(sweep.content)) {
      RecoveredCell& recovered = sweep.cells.emplace_back();
      recovered.cell = std::move(cell);
      recovered.members.resize(sweep.content.replicates);
    }
  }
  return absl::OkStatus();
}

// Null for rows of a sweep or cell that is not there.
RecoveredSweep* FindSweep(RecoveredState& state, SweepId id) {
  const auto at = std::lower_bound(state.sweeps.begin(), state.sweeps.end(), id,
                                   [](const RecoveredSweep& a, SweepId b) { return a.id < b; });
  return at != state.sweeps.end() && at->id == id ? &*at : nullptr;
}

RecoveredCell* FindCell(RecoveredState& state, SweepId id, uint32_t cell) {
  RecoveredSweep* sweep = FindSweep(state, id);
  return sweep != nullptr && cell < sweep->cells.size() ? &sweep->cells[cell] : nullptr;
}

void ReadPins(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, cell, hardware, stack, stack_fingerprint, trainer_build "
                        "FROM cell WHERE stack_fingerprint <> ''");
  while (row.executeStep()) {
    RecoveredCell* cell = FindCell(state, SweepId{UnsignedAt(row, 0)}, row.getColumn(1).getUInt());
    if (cell == nullptr) continue;
    cell->cell.hardware = row.getColumn(2).getString();
    cell->cell.stack = row.getColumn(3).getString();
    cell->fingerprint = row.getColumn(4).getString();
    cell->build = row.getColumn(5).getString();
  }
  SQLite::Statement data(database, "SELECT sweep, data_set, identity FROM sweep_data");
  while (data.executeStep()) {
    RecoveredSweep* sweep = FindSweep(state, SweepId{UnsignedAt(data, 0)});
    if (sweep == nullptr) continue;
    sweep->identities[data.getColumn(1).getString()] = data.getColumn(2).getString();
  }
}

// What is still waiting for its first attempt is as it was made.
absl::Status ReadMembers(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(
      database,
      "SELECT m.sweep, m.cell, m.replicate, m.state, m.attempt, m.forgiven, "
      "(SELECT l.lease FROM lease l JOIN attempt a USING (lease) WHERE l.sweep = m.sweep AND "
      "l.cell = m.cell AND l.replicate = m.replicate AND a.accepted = 1 "
      "AND a.outcome <> 'failed') "
      "FROM member m WHERE m.state <> 'waiting' OR m.attempt > 0 OR m.forgiven > 0");
  while (row.executeStep()) {
    const MemberId id = MemberAt(row, 0);
    RecoveredCell* cell = FindCell(state, id.sweep, id.cell);
    if (cell == nullptr || id.replicate >= cell->members.size()) continue;
    RecoveredMember& member = cell->members[id.replicate];
    const std::string name = row.getColumn(3).getString();
    const auto parsed = scheduler::ParseMemberState(name);
    if (!parsed) return Unreadable("member state", name);
    member.state = *parsed;
    member.attempt = row.getColumn(4).getUInt();
    member.forgiven = row.getColumn(5).getUInt();
    member.accepted = LeaseId{UnsignedAt(row, 6)};
  }
  return absl::OkStatus();
}

void ReadEvaluationSets(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT DISTINCT l.sweep, l.cell FROM artifact f "
                        "JOIN attempt a USING (lease) JOIN lease l USING (lease) "
                        "WHERE f.kind = 'evaluation_images' AND a.accepted = 1 "
                        "ORDER BY l.sweep, l.cell");
  while (row.executeStep()) {
    RecoveredSweep* sweep = FindSweep(state, SweepId{UnsignedAt(row, 0)});
    if (sweep != nullptr) sweep->cells_with_evaluation_set.push_back(row.getColumn(1).getUInt());
  }
}

// Live or past: both queries begin with the member's three columns, lease, attempt, worker.
template <typename Lease>
void FillLease(SQLite::Statement& row, Lease& lease) {
  lease.member = MemberAt(row, 0);
  lease.lease = LeaseId{UnsignedAt(row, 3)};
  lease.attempt = row.getColumn(4).getUInt();
  lease.worker = WorkerId{UnsignedAt(row, 5)};
}

// Batches are stored without gaps, so that the highest number says which are there.
void ReadLiveLeases(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, l.replicate, l.lease, l.attempt, l.worker, "
                        "l.specification, "
                        "(SELECT max(batch) FROM record r WHERE r.lease = l.lease) "
                        "FROM lease l WHERE l.dropped_us IS NULL ORDER BY l.lease");
  while (row.executeStep()) {
    scheduler::RecoveredLease& lease = state.leases.emplace_back();
    FillLease(row, lease);
    lease.specification = row.getColumn(6).getString();
    lease.sequence = UnsignedAt(row, 7);
  }
}

absl::Status ReadPastLeases(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, l.replicate, l.lease, l.attempt, l.worker, "
                        "l.drop_cause, l.drop_reason, a.lease IS NOT NULL "
                        "FROM lease l LEFT JOIN attempt a USING (lease) "
                        "WHERE l.dropped_us IS NOT NULL AND coalesce(a.accepted, 0) = 0 "
                        "ORDER BY l.lease");
  while (row.executeStep()) {
    scheduler::PastLease& lease = state.past_leases.emplace_back();
    FillLease(row, lease);
    const std::string name = row.getColumn(6).getString();
    const auto cause = ParseCauseClass(name);
    if (!cause) return Unreadable("cause class", name);
    lease.cause = *cause;
    lease.reason = row.getColumn(7).getString();
    lease.has_outcome = row.getColumn(8).getInt() != 0;
  }
  return absl::OkStatus();
}

void ReadWorkers(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT worker, name, identity, unit FROM worker ORDER BY worker");
  while (row.executeStep()) {
    scheduler::RecoveredWorker& worker = state.workers.emplace_back();
    worker.worker = WorkerId{UnsignedAt(row, 0)};
    worker.name = row.getColumn(1).getString();
    const std::string identity = row.getColumn(2).getString();
    std::from_chars(identity.data(), identity.data() + identity.size(), worker.identity);
    worker.unit = row.getColumn(3).getString();
  }
}

}  // namespace

absl::StatusOr<RecoveredState> ReadRecoveredState(SQLite::Database& database) {
  RecoveredState state;
  NF_RETURN_IF_ERROR(ReadSweeps(database, state));
  ReadPins(database, state);
  NF_RETURN_IF_ERROR(ReadMembers(database, state));
  ReadEvaluationSets(database, state);
  ReadLiveLeases(database, state);
  NF_RETURN_IF_ERROR(ReadPastLeases(database, state));
  ReadWorkers(database, state);
  state.last_sweep = SweepId{LargestOf(database, "SELECT max(sweep) FROM sweep")};
  state.last_lease = LeaseId{LargestOf(database, "SELECT max(lease) FROM lease")};
  state.last_worker = WorkerId{LargestOf(database, "SELECT max(worker) FROM worker")};
  return state;
}

}  // namespace noisefloor
