// Sweeps with their counts, from the database. SQLite's exceptions pass through: query.cc catches.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/query/revision_cache.h"

namespace noisefloor::query {

// Thread-safe.
struct SweepCaches {
  RevisionCache<SweepFacts> facts;
  RevisionCache<sweep::SweepRequest> submitted;
};

struct SweepOfKind {
  uint64_t sweep = 0;
  sweep::Kind kind = sweep::Kind::kTrain;
};
// The sweep of that number, or the newest for 0.
absl::StatusOr<SweepOfKind> FindSweepOfKind(SQLite::Database& database, uint64_t asked);
// FailedPrecondition for a sweep whose members are of another kind than a study's.
absl::Status CheckIsStudy(SQLite::Database& database, uint64_t sweep);
// NotFound with the sweep's name for programs; 0: the newest was asked for.
absl::Status NoSweep(uint64_t sweep, std::string_view message);
// The number asked for, or the newest for 0. NotFound when there is none.
absl::StatusOr<uint64_t> FindSweep(SQLite::Database& database, uint64_t sweep);

absl::StatusOr<Definition> ReadDefinition(SQLite::Database& database, uint64_t sweep);

// NotFound also for one whose submission is not answered yet. The basic view reads no definition.
absl::StatusOr<SweepSummary> Summarise(SQLite::Database& database, uint64_t sweep, SweepView view,
                                       const LiveFacts& live, SweepCaches& caches);

// The whole of a sweep: with its file as it was submitted, and with every default filled in.
absl::StatusOr<SweepWhole> ReadSweep(SQLite::Database& database, uint64_t sweep,
                                     const LiveFacts& live, SweepCaches& caches);

absl::StatusOr<SweepPage> ReadSweeps(SQLite::Database& database, const SweepQuestion& question,
                                     const LiveFacts& live, SweepCaches& caches);

absl::StatusOr<SweepNews> ReadNews(SQLite::Database& database, const SweepPlace& place,
                                   const LiveFacts& live, SweepCaches& caches);

std::vector<WorkerRow> ReadWorkers(SQLite::Database& database);

}  // namespace noisefloor::query
