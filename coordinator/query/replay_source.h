// What a replay of a member is made of. SQLite's exceptions pass through.
#pragma once

#include "SQLiteCpp/Database.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"

namespace noisefloor::query {

// NotFound when there is no such member, FailedPrecondition when it has no result, or is a replay.
absl::StatusOr<ReplaySource> FindReplaySource(SQLite::Database& database, const MemberId& member);

// The identity of the data set that the sweep is pinned to; "" = none.
std::string IdentityOf(SQLite::Database& database, SweepId sweep, const std::string& data_set);

}  // namespace noisefloor::query
