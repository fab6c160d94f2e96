#include "coordinator/query/sweep_rows.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <limits>
#include <string>

#include "SQLiteCpp/Statement.h"

#include "common/base/reason.h"
#include "common/trainer_protocol/json_reader.h"
#include "coordinator/query/event_reader.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/to_proto.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/resolved_file.h"

namespace noisefloor::query {

namespace {

constexpr int64_t kMicroseconds = 1000000;
constexpr int kMostLines = 1000;

// At the pace of the members that have ended, on as many slots as train now; where none does, at
// the rate of the last minutes. 0: nobody can say.
double SecondsLeft(const SweepProgress& progress) {
  constexpr double kSecondsOfAnHour = 3600;
  const double left = progress.waiting + progress.leased - progress.running;
  if (left <= 0 || (progress.paused && progress.leased == 0)) return 0;
  if (progress.leased > 0 && progress.mean_seconds > 0) {
    return left * progress.mean_seconds / progress.leased;
  }
  return progress.members_per_hour > 0 ? left / progress.members_per_hour * kSecondsOfAnHour : 0;
}

void Fill(const SweepProgress& progress, v1::SweepSummary& summary) {
  summary.set_cells(progress.cells);
  summary.set_waiting(progress.waiting);
  summary.set_leased(progress.leased);
  summary.set_done(progress.done);
  summary.set_diverged(progress.diverged);
  summary.set_failed(progress.failed);
  summary.set_cancelled(progress.cancelled);
  summary.set_retries(progress.retries);
  summary.set_mean_member_seconds(progress.mean_seconds);
  const uint32_t ended = progress.done + progress.diverged + progress.failed + progress.cancelled;
  summary.set_progress(ended + progress.running);
  summary.set_owner(progress.owner);
  summary.set_priority(progress.priority);
  summary.set_weight(progress.weight);
  summary.set_paused(progress.paused);
  summary.set_max_failures(progress.max_failures);
  summary.set_archived(progress.archived);
  for (const auto& [hardware, most] : progress.limits) (*summary.mutable_limits())[hardware] = most;
  summary.set_members_per_hour(progress.members_per_hour);
  summary.set_expected_seconds_left(SecondsLeft(progress));
}

v1::WorkerSummary WorkerAt(SQLite::Statement& row) {
  v1::WorkerSummary worker;
  worker.set_id(static_cast<uint64_t>(row.getColumn(0).getInt64()));
  worker.set_name(row.getColumn(1).getString());
  worker.set_version(row.getColumn(2).getString());
  worker.set_seen_unix_seconds(row.getColumn(4).getInt64() / kMicroseconds);
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;  // Of a newer coordinator.
  const auto status = google::protobuf::util::JsonStringToMessage(
      row.getColumn(3).getString(), worker.mutable_inventory(), options);
  if (!status.ok()) worker.clear_inventory();  // Damaged; its next registration mends it.
  return worker;
}

int64_t NewestEvent(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database, "SELECT max(event) FROM event WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  return row.executeStep() ? row.getColumn(0).getInt64() : 0;
}

std::string LineAt(SQLite::Statement& row) {
  std::string text = row.getColumn(1).getString();
  if (const std::string caller = row.getColumn(5).getString(); !caller.empty()) {
    text += " by " + caller;
  }
  if (row.getColumn(2).isNull()) return text;
  const MemberId member{SweepId{static_cast<uint64_t>(row.getColumn(4).getInt64())},
                        row.getColumn(2).getUInt(), row.getColumn(3).getUInt()};
  const std::string id = ToText(member);
  return text.find(id) == std::string::npos ? id + " " + text : text;
}

// What hardly ever changes.
absl::StatusOr<SummaryCache::Entry> ReadSummary(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT name, submitted_us, specification_sha256, definition, revision "
                        "FROM sweep WHERE sweep = ? AND deleted_us IS NULL");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  SummaryCache::Entry entry;
  entry.revision = row.getColumn(4).getUInt();
  v1::SweepSummary& summary = entry.summary;
  summary.set_id(sweep);
  summary.set_name(row.getColumn(0).getString());
  summary.set_submitted_unix_seconds(row.getColumn(1).getInt64() / kMicroseconds);
  summary.set_specification_sha256(row.getColumn(2).getString());
  NF_ASSIGN_OR_RETURN(const sweep::Sweep definition, SweepFromJson(row.getColumn(3).getString()));
  for (const std::string& hardware : definition.hardware) {
    if (!hardware.empty()) summary.add_hardware(hardware);
  }
  *summary.mutable_sweep() = ToProto(definition);
  summary.set_kind(std::string(Name(definition.kind)));
  if (definition.subject) summary.set_of(ToText(definition.subject->member));
  return entry;
}

// " by ada"; empty: nobody knows.
std::string ByWhom(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT caller FROM event WHERE sweep = ? AND kind = 'sweep_deleted'");
  row.bind(1, static_cast<int64_t>(sweep));
  const std::string caller = row.executeStep() ? row.getColumn(0).getString() : "";
  return caller.empty() ? "" : " by " + caller;
}

}  // namespace

absl::Status NoSweep(uint64_t sweep, std::string_view message) {
  ReasonMetadata which;
  if (sweep != 0) which["sweep"] = fmt::format("s{}", sweep);
  return Because(MakeError(absl::StatusCode::kNotFound, message), Reason::kSweepNotFound, which);
}

absl::StatusOr<uint64_t> FindSweep(SQLite::Database& database, uint64_t sweep) {
  const int64_t newest =
      database
          .execAndGet("SELECT max(sweep) FROM sweep WHERE kind = 'train' AND deleted_us IS NULL")
          .getInt64();
  if (newest == 0 && sweep == 0) {
    return NoSweep(0, "there is no sweep in this data directory yet");
  }
  if (sweep == 0) return static_cast<uint64_t>(newest);
  SQLite::Statement row(database, "SELECT deleted_us IS NOT NULL FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (row.executeStep()) {
    if (row.getColumn(0).getInt() == 0) return sweep;
    return NoSweep(sweep, fmt::format("s{} was deleted{}", sweep, ByWhom(database, sweep)));
  }
  return NoSweep(sweep, fmt::format("s{}: no such sweep; the newest is s{}", sweep, newest));
}

// Members of another kind are no draws of a plan: a study of them would say what is not so.
absl::Status CheckIsStudy(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT kind, of_sweep, of_cell, of_replicate FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep() || row.getColumn(0).getString() == "train") return absl::OkStatus();
  const MemberId of = {SweepId{static_cast<uint64_t>(row.getColumn(1).getInt64())},
                       row.getColumn(2).getUInt(), row.getColumn(3).getUInt()};
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("s{} is a {} of {} and no study of its own", sweep,
                               row.getColumn(0).getString(), ToText(of)));
}

absl::StatusOr<Definition> ReadDefinition(SQLite::Database& database, uint64_t asked) {
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, asked));
  SQLite::Statement row(database,
                        "SELECT definition, specification_sha256 FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  row.executeStep();
  Definition definition;
  NF_ASSIGN_OR_RETURN(definition.sweep, SweepFromJson(row.getColumn(0).getString()));
  definition.specification_sha256 = row.getColumn(1).getString();
  return definition;
}

absl::StatusOr<v1::SweepSummary> SummariseSweep(SQLite::Database& database, uint64_t sweep,
                                                const LiveFacts& live, SummaryCache& cache) {
  const std::optional<SweepProgress> progress = live.sweep(SweepId{sweep});
  if (!progress) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  NF_ASSIGN_OR_RETURN(v1::SweepSummary summary, cache.Get(sweep, progress->revision, [&] {
    return ReadSummary(database, sweep);
  }));
  Fill(*progress, summary);
  return summary;
}

absl::Status ReadFiles(SQLite::Database& database, uint64_t sweep, v1::GetSweepResponse& response) {
  SQLite::Statement row(database, "SELECT file, definition FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return NoSweep(sweep, fmt::format("s{}: no such sweep", sweep));
  }
  response.set_file(row.getColumn(0).getString());
  NF_ASSIGN_OR_RETURN(const sweep::Sweep definition, SweepFromJson(row.getColumn(1).getString()));
  response.set_resolved_file(sweep::ResolvedFile(definition));
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> PageSize(uint32_t asked) {
  constexpr uint32_t kUsual = 100;
  constexpr uint32_t kMost = 1000;
  if (asked > kMost) {
    return InvalidInput(fmt::format("page_size: expected at most {}, got {}", kMost, asked));
  }
  return asked == 0 ? kUsual : asked;
}

// The token is the number of the last sweep given.
absl::StatusOr<v1::ListSweepsResponse> ReadSweeps(SQLite::Database& database,
                                                  const v1::ListSweepsRequest& request,
                                                  const LiveFacts& live, SummaryCache& cache) {
  NF_ASSIGN_OR_RETURN(const uint32_t size, PageSize(request.page_size()));
  int64_t below = std::numeric_limits<int64_t>::max();
  if (!request.page_token().empty()) {
    const auto last = ParseSweepId(request.page_token());
    if (!last) return InvalidInput("page_token: not one of an earlier answer");
    below = static_cast<int64_t>(last->value);
  }
  SQLite::Statement row(
      database,
      "SELECT sweep FROM sweep WHERE sweep < ? AND archived <= ? AND deleted_us IS NULL "
      "ORDER BY sweep DESC");
  row.bind(1, below);
  row.bind(2, int{request.archived()});
  v1::ListSweepsResponse response;
  while (row.executeStep()) {
    if (response.sweeps_size() == static_cast<int>(size)) {
      response.set_next_page_token(ToText(SweepId{response.sweeps(size - 1).id()}));
      break;
    }
    const uint64_t sweep = static_cast<uint64_t>(row.getColumn(0).getInt64());
    absl::StatusOr<v1::SweepSummary> summary = SummariseSweep(database, sweep, live, cache);
    if (absl::IsNotFound(summary.status())) continue;  // Its submission is just being answered.
    NF_ASSIGN_OR_RETURN(*response.add_sweeps(), std::move(summary));
  }
  return response;
}

absl::StatusOr<v1::WatchSweepResponse> ReadWatch(SQLite::Database& database,
                                                 const v1::WatchSweepRequest& request,
                                                 const LiveFacts& live, SummaryCache& cache) {
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, request.sweep_id()));
  v1::WatchSweepResponse response;
  response.set_resume_token(request.resume_token());
  if (request.resume_token() == 0) {
    response.set_resume_token(static_cast<uint64_t>(NewestEvent(database, sweep)));
  } else {
    EventReader events(database);
    SQLite::Statement row(database,
                          fmt::format("SELECT {} FROM event WHERE sweep = ? AND event > ? "
                                      "ORDER BY event LIMIT ?",
                                      EventReader::kColumns));
    row.bind(1, static_cast<int64_t>(sweep));
    row.bind(2, static_cast<int64_t>(request.resume_token()));
    row.bind(3, kMostLines);
    while (row.executeStep()) {
      response.set_resume_token(static_cast<uint64_t>(row.getColumn(0).getInt64()));
      response.add_lines(LineAt(row));
      *response.add_events() = events.At(row);
    }
  }
  NF_ASSIGN_OR_RETURN(*response.mutable_sweep(), SummariseSweep(database, sweep, live, cache));
  return response;
}

v1::ListWorkersResponse ReadWorkers(SQLite::Database& database) {
  v1::ListWorkersResponse response;
  SQLite::Statement row(database,
                        "SELECT worker, name, version, inventory, seen_us FROM worker "
                        "WHERE forgotten = 0 ORDER BY name, worker");
  while (row.executeStep()) *response.add_workers() = WorkerAt(row);
  return response;
}

}  // namespace noisefloor::query
