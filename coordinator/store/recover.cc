#include "coordinator/store/recover.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "SQLiteCpp/Statement.h"

#include "common/trainer_protocol/json_reader.h"
#include "coordinator/scheduler/recovered.h"
#include "coordinator/store/hash_bytes.h"
#include "coordinator/store/recover_check.h"
#include "coordinator/store/specification_rows.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/infer.h"

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

// Of a condition: the sweep in that column was not deleted.
std::string IsKept(const std::string& column) {
  return column + " NOT IN (SELECT sweep FROM sweep WHERE deleted_us IS NOT NULL)";
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

// A weight is never 0: it divides.
absl::StatusOr<uint32_t> WeightAt(SQLite::Statement& row, int column, const std::string& of) {
  const int64_t weight = row.getColumn(column).getInt64();
  if (weight >= 1 && weight <= UINT32_MAX) return static_cast<uint32_t>(weight);
  return Damaged(of, "weight " + std::to_string(weight));
}

// Owner, priority, paused, max_failures, archived, revision, pardoned, limits, weight and GPU hours
// from `column` on.
absl::Status ReadSharing(SQLite::Statement& row, int column, RecoveredSweep& sweep) {
  sweep.sharing.owner = row.getColumn(column).getString();
  const int64_t priority = row.getColumn(column + 1).getInt64();
  sweep.sharing.priority = static_cast<int32_t>(priority);
  if (sweep.sharing.priority != priority) {
    return Damaged("sweep " + ToText(sweep.id), "priority " + std::to_string(priority));
  }
  sweep.sharing.paused = row.getColumn(column + 2).getInt() != 0;
  sweep.sharing.max_failures = CountAt(row, column + 3);
  sweep.sharing.archived = row.getColumn(column + 4).getInt() != 0;
  sweep.revision = CountAt(row, column + 5);
  sweep.sharing.pardoned = CountAt(row, column + 6);
  auto limits = LimitsFromJson(row.getColumn(column + 7).getString());
  if (!limits.ok()) return Damaged("sweep " + ToText(sweep.id), Message(limits.status()));
  sweep.sharing.limits = *std::move(limits);
  const std::string name = "sweep " + ToText(sweep.id);
  NF_ASSIGN_OR_RETURN(sweep.sharing.weight, WeightAt(row, column + 8, name));
  const double hours = row.getColumn(column + 9).getDouble();
  if (!std::isfinite(hours) || hours < 0) {
    return Damaged(name, "gpu_hours " + std::to_string(hours));
  }
  sweep.sharing.gpu_hours = hours;
  return absl::OkStatus();
}

absl::Status ReadSweeps(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(
      database,
      "SELECT sweep, request_id, specification_sha256, definition, name, seed, "
      "replicates, blocks, owner, priority, paused, max_failures, archived, "
      "revision, pardoned, limits, weight, gpu_hours FROM sweep WHERE deleted_us IS NULL "
      "ORDER BY sweep");
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
    NF_RETURN_IF_ERROR(ReadSharing(row, 8, sweep));
    for (sweep::Cell& cell : sweep::Expand(sweep.content)) {
      sweep.cells.emplace_back().cell = std::move(cell);
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

// Null for a member of no definition.
RecoveredCell* CellOf(RecoveredState& state, const MemberId& id) {
  RecoveredCell* cell = FindCell(state, id.sweep, id.cell);
  return cell != nullptr && id.replicate < cell->cell.replicates ? cell : nullptr;
}

// A member that nothing has happened to: it waits, or its whole cell was ended.
bool MayBeUntouched(MemberState state) {
  return state == MemberState::kWaiting || state == MemberState::kFailed ||
         state == MemberState::kCancelled;
}

// The rules that the rows of plans say are those of the definition.
absl::Status CheckPlanSources(SQLite::Database& database, const RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT plan, source, state, levels FROM plan_source WHERE sweep = ? "
                        "ORDER BY plan, source");
  for (const RecoveredSweep& sweep : state.sweeps) {
    std::set<std::string> expected;
    for (const sweep::NoisePlan& plan : sweep.content.plans) {
      for (const NoiseSource source : kAllNoiseSources) {
        const LaneRule& rule = RuleOf(plan.rules, source);
        if (!IsTold(source, rule.state)) continue;
        expected.insert(plan.name + " " + std::string(Name(source)) + " " +
                        std::string(Name(rule.state)) + " " + LevelsToJson(rule.levels));
      }
    }
    row.reset();
    row.bind(1, static_cast<int64_t>(sweep.id.value));
    std::set<std::string> found;
    while (row.executeStep()) {
      found.insert(row.getColumn(0).getString() + " " + row.getColumn(1).getString() + " " +
                   row.getColumn(2).getString() + " " + row.getColumn(3).getString());
    }
    if (found == expected) continue;
    return Damaged("plans of " + ToText(sweep.id), "their sources are not those of its definition");
  }
  return absl::OkStatus();
}

absl::Status ReadCells(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, cell, plan, block, hardware, stack, stack_fingerprint, "
                        "trainer_build, axes, replicates, untouched FROM cell "
                        "WHERE " +
                            IsKept("sweep"));
  while (row.executeStep()) {
    const SweepId sweep{UnsignedAt(row, 0)};
    const uint32_t index = CountAt(row, 1);
    RecoveredCell* cell = FindCell(state, sweep, index);
    if (cell == nullptr) return Damaged(NameOfCell(sweep, index), "no definition has such a cell");
    const CellRow kept = {row.getColumn(2).getString(), CountAt(row, 3),
                          row.getColumn(4).getString(), row.getColumn(5).getString(),
                          row.getColumn(6).getString(), row.getColumn(7).getString(),
                          row.getColumn(8).getString(), CountAt(row, 9)};
    const std::string fault = CellFault(kept, cell->cell);
    if (!fault.empty()) return Damaged(NameOfCell(sweep, index), fault);
    cell->cell.hardware = kept.hardware;
    cell->cell.stack = kept.stack;
    cell->fingerprint = kept.fingerprint;
    cell->build = kept.build;
    const std::string untouched = row.getColumn(10).getString();
    const auto state_of_rest = ParseMemberState(untouched);
    if (!state_of_rest || !MayBeUntouched(*state_of_rest)) {
      return Damaged(NameOfCell(sweep, index), "untouched \"" + untouched + "\"");
    }
    cell->untouched = *state_of_rest;
  }
  return absl::OkStatus();
}

absl::Status ReadIdentities(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(
      database, "SELECT sweep, data_set, identity FROM sweep_data WHERE " + IsKept("sweep"));
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

// One row for each cell of the definitions: keys differ and none is out of bounds, so that counting
// is enough.
absl::Status CheckCellCounts(SQLite::Database& database, const RecoveredState& state) {
  SQLite::Statement cells(database, "SELECT count(*) FROM cell WHERE sweep = ?");
  for (const RecoveredSweep& sweep : state.sweeps) {
    const auto expected = static_cast<int64_t>(sweep.cells.size());
    cells.bind(1, static_cast<int64_t>(sweep.id.value));
    const int64_t found = CountIn(cells);
    if (found == expected) continue;
    return Damaged(
        "sweep " + ToText(sweep.id),
        std::to_string(found) + " cells, and its definition has " + std::to_string(expected));
  }
  return absl::OkStatus();
}

// What inferences are about is in their definitions; the rows, which name the files, say the same.
absl::Status CheckInferences(SQLite::Database& database, const RecoveredState& state) {
  SQLite::Statement rows(database,
                         "SELECT cell, replicate, of_sweep, of_cell, of_replicate, sha256 FROM "
                         "inference WHERE sweep = ? ORDER BY cell, replicate");
  for (const RecoveredSweep& sweep : state.sweeps) {
    if (!sweep.content.inference) continue;
    rows.reset();
    rows.bind(1, static_cast<int64_t>(sweep.id.value));
    uint64_t found = 0;
    for (; rows.executeStep(); ++found) {
      const MemberId member = {sweep.id, rows.getColumn(0).getUInt(), rows.getColumn(1).getUInt()};
      const sweep::GivenWeights* given = sweep::WeightsOf(sweep.content, member);
      const MemberId of = MemberAt(rows, 2);
      if (given == nullptr || sweep::SubjectOf(sweep.content, member) != of ||
          given->sha256 != rows.getColumn(5).getString()) {
        return Damaged(ToText(member), "what it evaluates is not what its definition says");
      }
    }
    if (found == sweep::MemberCount(sweep.content)) continue;
    return Damaged("sweep " + ToText(sweep.id),
                   std::to_string(found) +
                       " members have weights to evaluate, and its definition "
                       "has " +
                       std::to_string(sweep::MemberCount(sweep.content)));
  }
  return absl::OkStatus();
}

absl::Status ReadMembers(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, cell, replicate, state, attempt, forgiven FROM member "
                        "WHERE " +
                            IsKept("sweep"));
  while (row.executeStep()) {
    const MemberId id = MemberAt(row, 0);
    RecoveredCell* cell = CellOf(state, id);
    if (cell == nullptr) return Damaged(ToText(id), "no definition has such a member");
    const std::string name = row.getColumn(3).getString();
    const auto parsed = ParseMemberState(name);
    if (!parsed) return Damaged(ToText(id), "state \"" + name + "\"");
    // Rows come in the order of the key.
    cell->members.emplace_hint(
        cell->members.end(), id.replicate,
        RecoveredMember{*parsed, CountAt(row, 4), CountAt(row, 5), LeaseId{}});
  }
  return absl::OkStatus();
}

// The results, one after the other as the two tables lie on the disk.
absl::Status ReadResults(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, l.replicate, a.lease, a.train_seconds, "
                        "a.train_seconds_special FROM attempt a CROSS JOIN lease l "
                        "ON l.lease = a.lease WHERE a.accepted = 1 AND a.outcome <> 'failed' "
                        "AND " +
                            IsKept("l.sweep"));
  while (row.executeStep()) {
    const MemberId id = MemberAt(row, 0);
    const LeaseId lease{UnsignedAt(row, 3)};
    RecoveredCell* cell = CellOf(state, id);
    const auto member = cell == nullptr ? std::map<uint32_t, RecoveredMember>::iterator()
                                        : cell->members.find(id.replicate);
    if (cell == nullptr || member == cell->members.end()) {
      return Damaged("lease " + std::to_string(lease.value),
                     "a result of " + ToText(id) + ", to which nothing has happened");
    }
    member->second.accepted = lease;
    const double seconds = row.getColumn(4).getDouble();
    if (row.getColumn(5).getInt() != 0 || seconds <= 0) continue;
    scheduler::TrainTimes& times = FindSweep(state, id.sweep)->times[cell->cell.hardware];
    times.sum += seconds;
    ++times.count;
  }
  return absl::OkStatus();
}

absl::Status ReadEvaluationSets(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT DISTINCT l.sweep, l.cell FROM artifact f "
                        "JOIN attempt a USING (lease) JOIN lease l USING (lease) "
                        "WHERE f.kind IN ('evaluation_images', 'evaluation_labels', "
                        "'evaluation_groups') AND f.kind = 'evaluation_images' "  // Its index.
                        "AND a.accepted = 1 AND " +
                            IsKept("l.sweep") + " ORDER BY l.sweep, l.cell");
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

// Live or past: both queries begin with the member's three columns, lease, attempt, worker, whether
// there is such a worker (live leases are of one that is not forgotten), and the unit's name.
template <typename Lease>
absl::Status FillLease(SQLite::Statement& row, RecoveredState& state, Lease& lease) {
  lease.member = MemberAt(row, 0);
  lease.lease = LeaseId{UnsignedAt(row, 3)};
  lease.attempt = CountAt(row, 4);
  lease.worker = WorkerId{UnsignedAt(row, 5)};
  const std::string name = "lease " + std::to_string(lease.lease.value);
  const RecoveredCell* cell = CellOf(state, lease.member);
  if (cell == nullptr) return Damaged(name, "there is no member " + ToText(lease.member));
  const uint32_t attempts = cell->At(lease.member.replicate).attempt;
  if (lease.attempt < 1 || lease.attempt > attempts) {
    return Damaged(name, "attempt " + std::to_string(lease.attempt) + " of " +
                             ToText(lease.member) + ", which has had " + std::to_string(attempts));
  }
  if (row.getColumn(6).getInt() == 0) {
    return Damaged(name, "there is no worker " + std::to_string(lease.worker.value));
  }
  if (row.getColumn(7).isNull()) return Damaged(name, "there is no unit of that number");
  lease.unit = row.getColumn(7).getString();
  return absl::OkStatus();
}

// Batches are stored without gaps, so that the highest number says which are there.
absl::Status ReadLiveLeases(SQLite::Database& database, RecoveredState& state) {
  SpecificationRows specifications(database);
  SQLite::Statement row(
      database,
      "SELECT l.sweep, l.cell, l.replicate, l.lease, l.attempt, l.worker, "
      "EXISTS (SELECT 1 FROM worker w WHERE w.worker = l.worker "
      "AND w.forgotten = 0), u.name, l.specification_sha256, "
      "(SELECT max(batch) FROM record r WHERE r.lease = l.lease), l.slot, l.granted_us, l.gpus "
      "FROM lease l LEFT JOIN unit u USING (unit) WHERE l.dropped_us IS NULL ORDER BY l.lease");
  while (row.executeStep()) {
    scheduler::RecoveredLease& lease = state.leases.emplace_back();
    NF_RETURN_IF_ERROR(FillLease(row, state, lease));
    const std::string hash = HashText(row.getColumn(8).getString());
    const uint64_t seed = FindSweep(state, lease.member.sweep)->content.seed;
    NF_ASSIGN_OR_RETURN(lease.specification, specifications.Of(lease.member, seed, hash));
    lease.sequence = UnsignedAt(row, 9);
    if (!row.getColumn(10).isNull()) lease.slot = CountAt(row, 10);
    lease.granted = absl::FromUnixMicros(row.getColumn(11).getInt64());
    lease.gpus = CountAt(row, 12);
  }
  return absl::OkStatus();
}

// Of leases that have ended. A clock may have been put back meanwhile.
absl::Status ReadGpuTimes(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT sweep, sum(gpus * max(0, dropped_us - granted_us)) FROM lease "
                        "WHERE gpus > 0 AND dropped_us IS NOT NULL AND " +
                            IsKept("sweep") + " GROUP BY sweep");
  while (row.executeStep()) {
    RecoveredSweep* sweep = FindSweep(state, SweepId{UnsignedAt(row, 0)});
    if (sweep == nullptr) continue;  // ReadPastLeases names it.
    sweep->gpu_time = absl::Microseconds(row.getColumn(1).getInt64());
  }
  return absl::OkStatus();
}

absl::Status ReadPastLeases(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT l.sweep, l.cell, l.replicate, l.lease, l.attempt, l.worker, "
                        "EXISTS (SELECT 1 FROM worker w WHERE w.worker = l.worker), "
                        "u.name, l.drop_cause, l.drop_reason, a.lease IS NOT NULL, "
                        "(SELECT w.name FROM worker w WHERE w.worker = l.worker "
                        "AND w.forgotten = 1) "
                        "FROM lease l LEFT JOIN unit u USING (unit) "
                        "LEFT JOIN attempt a USING (lease) "
                        "WHERE l.dropped_us IS NOT NULL AND l.drop_cause <> 'none' AND " +
                            IsKept("l.sweep") + " ORDER BY l.lease");
  while (row.executeStep()) {
    scheduler::PastLease& lease = state.past_leases.emplace_back();
    NF_RETURN_IF_ERROR(FillLease(row, state, lease));
    const std::string name = row.getColumn(8).getString();
    const auto cause = ParseCauseClass(name);
    if (!cause) {
      return Damaged("lease " + std::to_string(lease.lease.value), "drop_cause \"" + name + "\"");
    }
    lease.cause = *cause;
    lease.reason = row.getColumn(9).getString();
    lease.has_outcome = row.getColumn(10).getInt() != 0;
    if (row.getColumn(11).isNull()) continue;
    state.forgotten.try_emplace(lease.worker, row.getColumn(11).getString());
  }
  return absl::OkStatus();
}

absl::Status ReadShares(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database, "SELECT owner, weight FROM share");
  while (row.executeStep()) {
    const std::string owner = row.getColumn(0).getString();
    NF_ASSIGN_OR_RETURN(state.weights[owner], WeightAt(row, 1, "share of " + owner));
  }
  return absl::OkStatus();
}

absl::Status ReadSoftware(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database, "SELECT fingerprint, versions FROM software");
  while (row.executeStep()) {
    const std::string fingerprint = row.getColumn(0).getString();
    const auto json = ParseJson(row.getColumn(1).getString());
    Versions versions;
    bool sound = json.ok() && json->is_object();
    if (sound) {
      for (const auto& [name, version] : json->items()) {
        sound = sound && version.is_string();
        if (version.is_string()) versions[name] = version.get<std::string>();
      }
    }
    if (!sound) return Damaged("software " + fingerprint, "its versions are no object of texts");
    state.software[fingerprint] = std::make_shared<const Versions>(std::move(versions));
  }
  return absl::OkStatus();
}

absl::Status ReadWorkers(SQLite::Database& database, RecoveredState& state) {
  SQLite::Statement row(database,
                        "SELECT worker, name, identity, drained, seen_us "
                        "FROM worker WHERE forgotten = 0 ORDER BY worker");
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
    worker.drained = row.getColumn(3).getInt() != 0;
    worker.seen = absl::FromUnixMicros(row.getColumn(4).getInt64());
  }
  SQLite::Statement unit(database, "SELECT worker, unit FROM quarantine");
  while (unit.executeStep()) {
    const WorkerId id{UnsignedAt(unit, 0)};
    const auto worker = std::ranges::find(state.workers, id, &scheduler::RecoveredWorker::worker);
    if (worker == state.workers.end()) continue;  // Forgotten.
    worker->quarantined.insert(unit.getColumn(1).getString());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RecoveredState> ReadRecoveredState(SQLite::Database& database) {
  RecoveredState state;
  NF_RETURN_IF_ERROR(ReadSweeps(database, state));
  NF_RETURN_IF_ERROR(ReadCells(database, state));
  NF_RETURN_IF_ERROR(ReadIdentities(database, state));
  NF_RETURN_IF_ERROR(CheckPlanSources(database, state));
  NF_RETURN_IF_ERROR(CheckCellCounts(database, state));
  NF_RETURN_IF_ERROR(CheckInferences(database, state));
  NF_RETURN_IF_ERROR(ReadMembers(database, state));
  NF_RETURN_IF_ERROR(ReadResults(database, state));
  NF_RETURN_IF_ERROR(ReadEvaluationSets(database, state));
  NF_RETURN_IF_ERROR(ReadShares(database, state));
  NF_RETURN_IF_ERROR(ReadSoftware(database, state));
  NF_RETURN_IF_ERROR(ReadWorkers(database, state));
  NF_RETURN_IF_ERROR(ReadLiveLeases(database, state));
  NF_RETURN_IF_ERROR(ReadPastLeases(database, state));
  NF_RETURN_IF_ERROR(ReadGpuTimes(database, state));
  state.last_sweep = SweepId{LargestOf(database, "SELECT max(sweep) FROM sweep")};
  const uint64_t above = LargestOf(database, "SELECT max(above) FROM restoration");
  const uint64_t leases = LargestOf(database,
                                    "SELECT max(n) FROM (SELECT max(lease) AS n FROM lease "
                                    "UNION ALL SELECT max(deleted_lease) FROM sweep)");
  state.last_lease = LeaseId{std::max(above, leases)};
  state.last_worker = WorkerId{LargestOf(database, "SELECT max(worker) FROM worker")};
  state.last_event = EventId{std::max(above, LargestOf(database, "SELECT max(event) FROM event"))};
  return state;
}

}  // namespace noisefloor
