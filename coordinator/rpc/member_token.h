// In which order members are listed, and where in it the next page begins: as requests say it.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coordinator/query/member.h"

namespace noisefloor {

// "", "member", "top1 desc", ...; InvalidArgument names those that there are.
absl::StatusOr<query::MemberOrder> MemberOrderFrom(std::string_view text);

// The last member of a page.
struct MemberToken {
  query::MemberOrder order;
  MemberId after;
  query::MemberKey key;  // Where the order is not that of members.
};

// "s3c12r4", or "top1 desc/=4604120541389389005/s3c12r4": numbers by their bits.
std::string ToText(const MemberToken& token);
// Nothing for what ToText does not write.
std::optional<MemberToken> ParseMemberToken(std::string_view text);

}  // namespace noisefloor
