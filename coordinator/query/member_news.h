// What one who watches a member has not been told yet. SQLite's exceptions pass through: query.cc
// catches.
#pragma once

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/query/query.h"

namespace noisefloor::query {

// NotFound when there is no such member. Costs what it returns and, when the watch was opened from
// a step, the records of that lease once.
absl::StatusOr<MemberNews> ReadMemberNews(SQLite::Database& database, const MemberPlace& place,
                                          const LiveFacts& live);

}  // namespace noisefloor::query
