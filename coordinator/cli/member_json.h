// A member as `members --output=json` and `export` write it. Version 1; fields are only added.
#pragma once

#include <vector>

#include "coordinator/cli/output.h"
#include "noisefloor/v1/member.pb.h"

namespace noisefloor::cli {

// id, sweep, cell, replicate, block, hardware, stack, plan, state, attempt, worker, axes{path:
// text}, lanes{source: n}, sources{source: state}, seeds{source: "decimal"}, hashes{...},
// metrics{loss, top1, top5}, environment{...}, artifacts[{kind, path, sha256, size}], ...
Json MemberJson(const v1::Member& member);
Json MembersJson(const std::vector<v1::Member>& members);

}  // namespace noisefloor::cli
