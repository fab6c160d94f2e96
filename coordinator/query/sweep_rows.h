// Sweeps with their counts, from the database. SQLite's exceptions pass through: query.cc catches.
#pragma once

#include <string_view>

#include "SQLiteCpp/Database.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/query/summary_cache.h"

namespace noisefloor::query {

// The number asked for, or the newest for 0. NotFound when there is none.
absl::Status CheckIsStudy(SQLite::Database& database, uint64_t sweep);
// NotFound with the sweep's name for programs; 0: the newest was asked for.
absl::Status NoSweep(uint64_t sweep, std::string_view message);
absl::StatusOr<uint64_t> FindSweep(SQLite::Database& database, uint64_t sweep);

absl::StatusOr<Definition> ReadDefinition(SQLite::Database& database, uint64_t sweep);

// NotFound also for one whose submission is not answered yet.
absl::StatusOr<v1::SweepSummary> SummariseSweep(SQLite::Database& database, uint64_t sweep,
                                                const LiveFacts& live, SummaryCache& cache);

// The sweep file as it was submitted, and with every default filled in.
absl::Status ReadFiles(SQLite::Database& database, uint64_t sweep, v1::GetSweepResponse& response);

absl::StatusOr<v1::ListSweepsResponse> ReadSweeps(SQLite::Database& database,
                                                  const v1::ListSweepsRequest& request,
                                                  const LiveFacts& live, SummaryCache& cache);

absl::StatusOr<v1::WatchSweepResponse> ReadWatch(SQLite::Database& database,
                                                 const v1::WatchSweepRequest& request,
                                                 const LiveFacts& live, SummaryCache& cache);

v1::ListWorkersResponse ReadWorkers(SQLite::Database& database);

// A page size of a request: 0 is 100, at most 1000.
absl::StatusOr<uint32_t> PageSize(uint32_t asked);

}  // namespace noisefloor::query
