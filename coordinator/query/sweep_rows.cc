#include "coordinator/query/sweep_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "SQLiteCpp/Statement.h"

#include "common/trainer_protocol/json_reader.h"
#include "coordinator/query/rows.h"
#include "coordinator/query/to_proto.h"
#include "coordinator/store/sweep_json.h"
#include "coordinator/sweep/resolved_file.h"

namespace noisefloor::query {

namespace {

constexpr int64_t kMicroseconds = 1000000;
constexpr int kMostLines = 1000;

void Count(SQLite::Database& database, uint64_t sweep, v1::SweepSummary& summary) {
  SQLite::Statement row(database,
                        "SELECT state, count(*), sum(max(attempt - 1, 0)) FROM member "
                        "WHERE sweep = ?1 GROUP BY state UNION ALL "
                        "SELECT untouched, sum(replicates - (SELECT count(*) FROM member m WHERE "
                        "m.sweep = c.sweep AND m.cell = c.cell)), 0 FROM cell c "
                        "WHERE sweep = ?1 GROUP BY untouched");
  row.bind(1, static_cast<int64_t>(sweep));
  uint32_t retries = 0;
  while (row.executeStep()) {
    const std::string state = row.getColumn(0).getString();
    const uint32_t count = row.getColumn(1).getUInt();
    retries += row.getColumn(2).getUInt();
    if (state == "waiting") summary.set_waiting(summary.waiting() + count);
    if (state == "leased") summary.set_leased(count);
    if (state == "done") summary.set_done(count);
    if (state == "diverged") summary.set_diverged(count);
    if (state == "failed") summary.set_failed(summary.failed() + count);
    if (state == "cancelled") summary.set_cancelled(summary.cancelled() + count);
  }
  summary.set_retries(retries);
}

double ShareDone(const v1::SweepSummary& summary, const Running& running) {
  double done = summary.done() + summary.diverged() + summary.failed() + summary.cancelled();
  const MemberId first{SweepId{summary.id()}, 0, 0};
  uint32_t counted = 0;
  for (auto at = running.lower_bound(first); at != running.end(); ++at) {
    if (at->first.sweep != first.sweep || counted++ >= summary.leased()) break;
    const Progress& progress = at->second;
    if (progress.step_count <= 0) continue;
    done += std::clamp(
        static_cast<double>(progress.step) / static_cast<double>(progress.step_count), 0.0, 1.0);
  }
  return done;
}

double MeanSeconds(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT avg(a.train_seconds) FROM lease l JOIN attempt a USING (lease) "
                        "WHERE l.sweep = ? AND a.accepted = 1 AND a.train_seconds_special = 0");
  row.bind(1, static_cast<int64_t>(sweep));
  return row.executeStep() ? row.getColumn(0).getDouble() : 0;
}

v1::WorkerSummary WorkerAt(SQLite::Statement& row) {
  v1::WorkerSummary worker;
  worker.set_id(static_cast<uint64_t>(row.getColumn(0).getInt64()));
  worker.set_name(row.getColumn(1).getString());
  worker.set_slots(row.getColumn(2).getUInt());
  worker.set_unit(row.getColumn(3).getString());
  worker.set_seen_unix_seconds(row.getColumn(6).getInt64() / kMicroseconds);
  for (const std::string& name : NamesIn(row.getColumn(4).getString())) worker.add_classes(name);
  for (const std::string& name : NamesIn(row.getColumn(5).getString())) worker.add_stacks(name);
  return worker;
}

int64_t NewestEvent(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database, "SELECT max(event) FROM event WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  return row.executeStep() ? row.getColumn(0).getInt64() : 0;
}

std::string LineAt(SQLite::Statement& row) {
  std::string text = row.getColumn(1).getString();
  if (row.getColumn(2).isNull()) return text;
  const MemberId member{SweepId{static_cast<uint64_t>(row.getColumn(4).getInt64())},
                        row.getColumn(2).getUInt(), row.getColumn(3).getUInt()};
  const std::string id = ToText(member);
  return text.find(id) == std::string::npos ? id + " " + text : text;
}

// All but how far the running members are.
absl::StatusOr<v1::SweepSummary> ReadSummary(SQLite::Database& database, uint64_t sweep) {
  SQLite::Statement row(database,
                        "SELECT name, submitted_us, specification_sha256, definition, "
                        "(SELECT count(*) FROM cell c WHERE c.sweep = s.sweep) "
                        "FROM sweep s WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return MakeError(absl::StatusCode::kNotFound, fmt::format("s{}: no such sweep", sweep));
  }
  v1::SweepSummary summary;
  summary.set_id(sweep);
  summary.set_name(row.getColumn(0).getString());
  summary.set_submitted_unix_seconds(row.getColumn(1).getInt64() / kMicroseconds);
  summary.set_specification_sha256(row.getColumn(2).getString());
  summary.set_cells(row.getColumn(4).getUInt());
  NF_ASSIGN_OR_RETURN(const sweep::Sweep definition, SweepFromJson(row.getColumn(3).getString()));
  *summary.mutable_sweep() = ToProto(definition);
  Count(database, sweep, summary);
  summary.set_mean_member_seconds(MeanSeconds(database, sweep));
  return summary;
}

}  // namespace

absl::StatusOr<uint64_t> FindSweep(SQLite::Database& database, uint64_t sweep) {
  const int64_t newest = database.execAndGet("SELECT max(sweep) FROM sweep").getInt64();
  if (newest == 0) {
    return MakeError(absl::StatusCode::kNotFound, "there is no sweep in this data directory yet");
  }
  if (sweep == 0) return static_cast<uint64_t>(newest);
  SQLite::Statement row(database, "SELECT 1 FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (row.executeStep()) return sweep;
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("s{}: no such sweep; the newest is s{}", sweep, newest));
}

absl::StatusOr<v1::SweepSummary> SummariseSweep(SQLite::Database& database, uint64_t sweep,
                                                const Running& running, SummaryCache& cache) {
  NF_ASSIGN_OR_RETURN(v1::SweepSummary summary, cache.Get(sweep, NewestEvent(database, sweep), [&] {
    return ReadSummary(database, sweep);
  }));
  summary.set_progress(ShareDone(summary, running));
  return summary;
}

absl::Status ReadFiles(SQLite::Database& database, uint64_t sweep, v1::GetSweepResponse& response) {
  SQLite::Statement row(database, "SELECT file, definition FROM sweep WHERE sweep = ?");
  row.bind(1, static_cast<int64_t>(sweep));
  if (!row.executeStep()) {
    return MakeError(absl::StatusCode::kNotFound, fmt::format("s{}: no such sweep", sweep));
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
                                                  const Running& running, SummaryCache& cache) {
  NF_ASSIGN_OR_RETURN(const uint32_t size, PageSize(request.page_size()));
  int64_t below = std::numeric_limits<int64_t>::max();
  if (!request.page_token().empty()) {
    const auto last = ParseSweepId(request.page_token());
    if (!last) return InvalidInput("page_token: not one of an earlier answer");
    below = static_cast<int64_t>(last->value);
  }
  SQLite::Statement row(database,
                        "SELECT sweep FROM sweep WHERE sweep < ? ORDER BY sweep DESC LIMIT ?");
  row.bind(1, below);
  row.bind(2, static_cast<int64_t>(size) + 1);
  v1::ListSweepsResponse response;
  while (row.executeStep()) {
    if (response.sweeps_size() == static_cast<int>(size)) {
      response.set_next_page_token(ToText(SweepId{response.sweeps(size - 1).id()}));
      break;
    }
    const uint64_t sweep = static_cast<uint64_t>(row.getColumn(0).getInt64());
    NF_ASSIGN_OR_RETURN(*response.add_sweeps(), SummariseSweep(database, sweep, running, cache));
  }
  return response;
}

absl::StatusOr<v1::WatchSweepResponse> ReadWatch(SQLite::Database& database,
                                                 const v1::WatchSweepRequest& request,
                                                 const Running& running, SummaryCache& cache) {
  NF_ASSIGN_OR_RETURN(const uint64_t sweep, FindSweep(database, request.sweep_id()));
  v1::WatchSweepResponse response;
  response.set_resume_token(request.resume_token());
  if (request.resume_token() == 0) {
    response.set_resume_token(static_cast<uint64_t>(NewestEvent(database, sweep)));
  } else {
    SQLite::Statement row(database,
                          "SELECT event, text, cell, replicate, sweep FROM event "
                          "WHERE sweep = ? AND event > ? ORDER BY event LIMIT ?");
    row.bind(1, static_cast<int64_t>(sweep));
    row.bind(2, static_cast<int64_t>(request.resume_token()));
    row.bind(3, kMostLines);
    while (row.executeStep()) {
      response.set_resume_token(static_cast<uint64_t>(row.getColumn(0).getInt64()));
      response.add_lines(LineAt(row));
    }
  }
  NF_ASSIGN_OR_RETURN(*response.mutable_sweep(), SummariseSweep(database, sweep, running, cache));
  return response;
}

v1::ListWorkersResponse ReadWorkers(SQLite::Database& database) {
  v1::ListWorkersResponse response;
  SQLite::Statement row(database,
                        "SELECT worker, name, slots, unit, classes, stacks, seen_us FROM worker "
                        "ORDER BY name, worker");
  while (row.executeStep()) *response.add_workers() = WorkerAt(row);
  return response;
}

}  // namespace noisefloor::query
