// Orders in which members of a sweep are listed, page by page. A page in another order than that of
// members looks at a row of each member of the sweep that has one, in the order in which they lie
// on the disk, and holds 64 bytes of each that is asked for while it is made.
#pragma once

#include <vector>

#include "SQLiteCpp/Database.h"

#include "coordinator/query/member.h"

namespace noisefloor::query {

struct ListedMember {
  MemberId id;
  MemberKey key;
};

// The first `most` of `ids`, which are in order of cell and replicate, that come after the place
// `question` goes on from, in its order. SQLite's exceptions pass through.
std::vector<ListedMember> FirstInOrder(SQLite::Database& database, const MemberQuestion& question,
                                       const std::vector<MemberId>& ids, size_t most);

}  // namespace noisefloor::query
