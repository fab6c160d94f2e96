// Which members of a sweep are asked for. SQLite's exceptions pass through.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/query/member.h"

namespace noisefloor::query {

// InvalidArgument when the question names what its sweep has not, by its name. Only the first page
// is checked.
absl::Status CheckSelection(SQLite::Database& database, const MemberQuestion& question);

// The first `most` members that are asked for, in order of cell and replicate, from after `after`
// on.
std::vector<MemberId> FindSelected(SQLite::Database& database, const MemberQuestion& question,
                                   const std::optional<MemberId>& after, size_t most);

}  // namespace noisefloor::query
