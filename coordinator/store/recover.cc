#include "coordinator/store/recover.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "coordinator/store/recover_check.h"
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

// What does not fit is the largest number, which nothing is counted or named by.
uint32_t CountAt(SQLite::Statement& row, int column) {
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  return static_cast<uint32_t>(std::min(UnsignedAt(row, column), kMost));
}

// Sweep, cell and replicate in three columns from `column` on.
MemberId MemberAt(SQLite::Statement& row, int column) {
  return {SweepId{UnsignedAt(row, column)}, CountAt(row, column + 1), CountAt(row, column + 2)};
}

std::string NameOfCell(SweepId sweep, uint32_t cell) {
  return "cell " + ToText(sweep) + "c" + std::to_string(cell);
}

uint64_t LargestOf(SQLite::Database& database, const char* sql) {
  return static_cast<uint64_t>(database.execAndGet(sql).getInt64());
}

// Against the columns of its row that say the same: name, seed, replicates and blocks from
// `column` on.
absl::Status CheckAgainstColumns(SQLite::Statement& row, int column, const RecoveredSweep& sweep) {
  const std::pair<const char*, std::string> said[] = {
      {"name", sweep.content.name},
      {"seed", std::to_string(sweep.content.seed)},
      {"replicates", std::to_string(sweep.content.replicates)},
      {"blocks", std::to_string(sweep.content.blocks)}};
  for (const auto& [name, value] : said) {
    const std::string kept = row.getColumn(column++).getString();
    if (kept == value) continue;
    return Damaged(
        "sweep " + ToText(sweep.id),
        std::string(name) + " \"" + kept + "\", and its definition says \"" + value + "\"");
  }
  return absl::OkStatus();
}

absl::Status ReadSweeps(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, request_id, specification_sha256, definition, name, seed, "
                        "replicates, blocks FROM sweep ORDER BY sweep");
  while (row.executeStep()) {
    RecoveredSweep& sweep = state.sweeps.emplace_back();
    sweep.id = SweepId{UnsignedAt(row, 0)};
    sweep.request_id = row.getColumn(1).getString();
    sweep.specification_sha256 = row.getColumn(2).getString();
    const std::string name = "sweep " + ToText(sweep.id);
    auto content = SweepFromJson(row.getColumn(3).getString());
    if (!content.ok()) return Damaged(name, "definition: " + Message(content.status()));
    sweep.content = *std::move(content);
    NF_RETURN_IF_ERROR(CheckAgainstColumns(row, 4, sweep));
    const std::string fault = DefinitionFault(sweep.content);
    if (!fault.empty()) return Damaged(name, fault);
    for (sweep::Cell& cell : sweep::Expand(sweep.content)) {
      RecoveredCell& recovered = sweep.cells.emplace_back();
      recovered.members.resize(cell.replicates);
      recovered.cell = std::move(cell);
    }
  }
  return absl::OkStatus();
}

// Null for rows of a sweep, cell or member that is not there.
RecoveredSweep* FindSweep(RecoveredState& state, SweepId id) {
  const auto at = std::lower_bound(state.sweeps.begin(), state.sweeps.end(), id,
                                   [](const RecoveredSweep& a, SweepId b) { return a.id < b; });
  return at != state.sweeps.end() && at->id == id ? &*at : nullptr;
}

RecoveredCell* FindCell(RecoveredState& state, SweepId id, uint32_t cell) {
  RecoveredSweep* sweep = FindSweep(state, id);
  return sweep != nullptr && cell < sweep->cells.size() ? &sweep->cells[cell] : nullptr;
}

RecoveredMember* FindMember(RecoveredState& state, const MemberId& id) {
  RecoveredCell* cell = FindCell(state, id.sweep, id.cell);
  return cell != nullptr && id.replicate < cell->members.size() ? &cell->members[id.replicate]
                                                                : nullptr;
}

absl::Status ReadCells(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, cell, plan, block, hardware, stack, stack_fingerprint, "
                        "trainer_build, axes FROM cell");
  while (row.executeStep()) {
    const SweepId sweep{UnsignedAt(row, 0)};
    const uint32_t index = CountAt(row, 1);
    RecoveredCell* cell = FindCell(state, sweep, index);
    if (cell == nullptr) return Damaged(NameOfCell(sweep, index), "no definition has such a cell");
    const CellRow kept = {row.getColumn(2).getString(), CountAt(row, 3),
                          row.getColumn(4).getString(), row.getColumn(5).getString(),
                          row.getColumn(6).getString(), row.getColumn(7).getString(),
                          row.getColumn(8).getString()};
    const std::string fault = CellFault(kept, cell->cell);
    if (!fault.empty()) return Damaged(NameOfCell(sweep, index), fault);
    cell->cell.hardware = kept.hardware;
    cell->cell.stack = kept.stack;
    cell->fingerprint = kept.fingerprint;
    cell->build = kept.build;
  }
  return absl::OkStatus();
}

absl::Status ReadIdentities(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database, "SELECT sweep, data_set, identity FROM sweep_data");
  while (row.executeStep()) {
    const SweepId id{UnsignedAt(row, 0)};
    RecoveredSweep* sweep = FindSweep(state, id);
    if (sweep == nullptr) return Damaged("data of " + ToText(id), "there is no such sweep");
    sweep->identities[row.getColumn(1).getString()] = row.getColumn(2).getString();
  }
  return absl::OkStatus();
}

int64_t CountIn(SQLite::Statement& statement) {
  statement.executeStep();
  const int64_t found = statement.getColumn(0).getInt64();
  statement.reset();
  return found;
}

// One row for each cell and member of the definitions: keys differ and none is out of bounds, so
// that counting is enough.
absl::Status CheckRowCounts(SQLite::Database& database, const RecoveredState& state) {
  SQLite::Statement cells(database, "SELECT count(*) FROM cell WHERE sweep = ?");
  SQLite::Statement members(database,
                            "SELECT count(*) FROM member WHERE sweep = ? AND cell = ? AND "
                            "replicate >= 0 AND replicate < ?");
  for (const RecoveredSweep& sweep : state.sweeps) {
    const auto id = static_cast<int64_t>(sweep.id.value);
    const auto expected = static_cast<int64_t>(sweep.cells.size());
    const auto planned = static_cast<int64_t>(sweep::MemberCount(sweep.content));
    cells.bind(1, id);
    std::pair<int64_t, int64_t> found = {CountIn(cells), 0};
    members.bind(1, id);
    for (const RecoveredCell& cell : sweep.cells) {
      members.bind(2, cell.cell.index);
      members.bind(3, cell.cell.replicates);
      found.second += CountIn(members);
    }
    if (found == std::pair(expected, planned)) continue;
    return Damaged("sweep " + ToText(sweep.id),
                   std::to_string(found.first) + " cells and " + std::to_string(found.second) +
                       " members, and its definition has " + std::to_string(expected) + " and " +
                       std::to_string(planned));
  }
  return absl::OkStatus();
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
    RecoveredMember* member = FindMember(state, id);
    if (member == nullptr) return Damaged(ToText(id), "no definition has such a member");
    const std::string name = row.getColumn(3).getString();
    const auto parsed = scheduler::ParseMemberState(name);
    if (!parsed) return Damaged(ToText(id), "state \"" + name + "\"");
    *member = {*parsed, CountAt(row, 4), CountAt(row, 5), LeaseId{UnsignedAt(row, 6)}};
  }
  return absl::OkStatus();
}

absl::Status ReadEvaluationSets(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT DISTINCT l.sweep, l.cell FROM artifact f "
                        "JOIN attempt a USING (lease) JOIN lease l USING (lease) "
                        "WHERE f.kind = 'evaluation_images' AND a.accepted = 1 "
                        "ORDER BY l.sweep, l.cell");
  while (row.executeStep()) {
    const SweepId id{UnsignedAt(row, 0)};
    const uint32_t cell = CountAt(row, 1);
    if (FindCell(state, id, cell) == nullptr) {
      return Damaged("evaluation images of " + NameOfCell(id, cell), "there is no such cell");
    }
    FindSweep(state, id)->cells_with_evaluation_set.push_back(cell);
  }
  return absl::OkStatus();
}

// Live or past: both queries begin with the member's three columns, lease, attempt, worker.
template <typename Lease>
absl::Status FillLease(SQLite::Statement& row, RecoveredState& state, Lease& lease) {
  lease.member = MemberAt(row, 0);
  lease.lease = LeaseId{UnsignedAt(row, 3)};
  lease.attempt = CountAt(row, 4);
  lease.worker = WorkerId{UnsignedAt(row, 5)};
  const std::string name = "lease " + std::to_string(lease.lease.value);
  const RecoveredMember* member = FindMember(state, lease.member);
  if (member == nullptr) return Damaged(name, "there is no member " + ToText(lease.member));
  if (lease.attempt < 1 || lease.attempt > member->attempt) {
    return Damaged(name, "attempt " + std::to_string(lease.attempt) + " of " +
                             ToText(lease.member) + ", which has had " +
                             std::to_string(member->attempt));
  }
  if (!std::ranges::binary_search(state.workers, lease.worker, {},
                                  &scheduler::RecoveredWorker::worker)) {
    return Damaged(name, "there is no worker " + std::to_string(lease.worker.value));
  }
  return absl::OkStatus();
}

// Batches are stored without gaps, so that the highest number says which are there.
absl::Status ReadLiveLeases(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, l.replicate, l.lease, l.attempt, l.worker, "
                        "l.specification, "
                        "(SELECT max(batch) FROM record r WHERE r.lease = l.lease) "
                        "FROM lease l WHERE l.dropped_us IS NULL ORDER BY l.lease");
  while (row.executeStep()) {
    scheduler::RecoveredLease& lease = state.leases.emplace_back();
    NF_RETURN_IF_ERROR(FillLease(row, state, lease));
    lease.specification = row.getColumn(6).getString();
    lease.sequence = UnsignedAt(row, 7);
  }
  return absl::OkStatus();
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
    NF_RETURN_IF_ERROR(FillLease(row, state, lease));
    const std::string name = row.getColumn(6).getString();
    const auto cause = ParseCauseClass(name);
    if (!cause) {
      return Damaged("lease " + std::to_string(lease.lease.value), "drop_cause \"" + name + "\"");
    }
    lease.cause = *cause;
    lease.reason = row.getColumn(7).getString();
    lease.has_outcome = row.getColumn(8).getInt() != 0;
  }
  return absl::OkStatus();
}

absl::Status ReadWorkers(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT worker, name, identity, unit FROM worker ORDER BY worker");
  while (row.executeStep()) {
    scheduler::RecoveredWorker& worker = state.workers.emplace_back();
    worker.worker = WorkerId{UnsignedAt(row, 0)};
    worker.name = row.getColumn(1).getString();
    const std::string identity = row.getColumn(2).getString();
    const char* end = identity.data() + identity.size();
    const auto parsed = std::from_chars(identity.data(), end, worker.identity);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return Damaged("worker " + std::to_string(worker.worker.value),
                     "identity \"" + identity + "\"");
    }
    worker.unit = row.getColumn(3).getString();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecoveredState> ReadRecoveredState(SQLite::Database& database) {
  RecoveredState state;
  NF_RETURN_IF_ERROR(ReadSweeps(database, state));
  NF_RETURN_IF_ERROR(ReadCells(database, state));
  NF_RETURN_IF_ERROR(ReadIdentities(database, state));
  NF_RETURN_IF_ERROR(CheckRowCounts(database, state));
  NF_RETURN_IF_ERROR(ReadMembers(database, state));
  NF_RETURN_IF_ERROR(ReadEvaluationSets(database, state));
  NF_RETURN_IF_ERROR(ReadWorkers(database, state));
  NF_RETURN_IF_ERROR(ReadLiveLeases(database, state));
  NF_RETURN_IF_ERROR(ReadPastLeases(database, state));
  state.last_sweep = SweepId{LargestOf(database, "SELECT max(sweep) FROM sweep")};
  state.last_lease = LeaseId{LargestOf(database, "SELECT max(lease) FROM lease")};
  state.last_worker = WorkerId{LargestOf(database, "SELECT max(worker) FROM worker")};
  return state;
}

}  // namespace noisefloor
