// A member as `members --output=json` and `export` write it. Version 1; fields are only added.
#pragma once

#include <ostream>
#include <string_view>

#include "coordinator/cli/output.h"
#include "noisefloor/v1/coordinator_api.pb.h"
#include "noisefloor/v1/member.pb.h"

namespace noisefloor::cli {

// id, sweep, cell, replicate, block, hardware, stack, plan, state, attempt, worker, axes{path:
// text}, lanes{source: n}, sources{source: state}, seeds{source: "decimal"}, hashes{...},
// metrics{loss, top1, top5}, environment{...}, artifacts[{kind, path, sha256, size}], ...
Json MemberJson(const v1::Member& member);

// "off", "fixed", "free"; "unspecified".
std::string_view Name(v1::SourceState state);

// number, unix_micros, kind, member, attempt, lease, worker, caller, text.
Json EventJson(const v1::Event& event);

// {"version": 1, "members": [...]}, as PrintJson would print it whole, member by member: a study of
// 100,000 is 500 MB of it.
class MembersJson {
 public:
  explicit MembersJson(std::ostream& out);  // Borrowed.
  void Add(const v1::Member& member);
  void Finish();

 private:
  std::ostream& out_;
  bool empty_ = true;
};

}  // namespace noisefloor::cli
