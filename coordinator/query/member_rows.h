// Members whole, from the database. SQLite's exceptions pass through: query.cc catches.
#pragma once

#include <string>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/sweep_rows.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

// The member that a request names: InvalidArgument for what is no name, NotFound.
absl::StatusOr<MemberId> FindMember(SQLite::Database& database, const std::string& text);

absl::StatusOr<v1::ListMembersResponse> ReadMembers(SQLite::Database& database,
                                                    const v1::ListMembersRequest& request,
                                                    const LiveFacts& live);

absl::StatusOr<v1::GetMemberResponse> ReadMember(SQLite::Database& database,
                                                 const v1::GetMemberRequest& request,
                                                 const LiveFacts& live);

// The file of one kind of the accepted attempt, else of the last that has one.
absl::StatusOr<BlobName> ReadArtifactName(SQLite::Database& database,
                                          const v1::GetArtifactRequest& request);

}  // namespace noisefloor::query
