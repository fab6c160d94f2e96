// Members whole, from the database. SQLite's exceptions pass through: query.cc catches.
#pragma once

#include <string>

#include "SQLiteCpp/Database.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

// NotFound, by what is missing: the sweep or the member.
absl::Status CheckThereIs(SQLite::Database& database, const MemberId& member);

// A page holds fewer members than asked for where they are long: see kMostPageBytes.
absl::StatusOr<MemberPage> ReadMembers(SQLite::Database& database, const MemberQuestion& question,
                                       const LiveFacts& live);

absl::StatusOr<MemberWhole> ReadMember(SQLite::Database& database, const MemberId& id,
                                       const LiveFacts& live);

// The file of one kind of the accepted attempt, else of the last that has one.
absl::StatusOr<BlobName> ReadArtifactName(SQLite::Database& database, const MemberId& id,
                                          const std::string& kind);

}  // namespace noisefloor::query
