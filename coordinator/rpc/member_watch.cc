#include "coordinator/rpc/member_watch.h"

#include <utility>

#include "coordinator/query/member_news.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

MemberWatch::MemberWatch(Parts parts, const v1::WatchMemberRequest& request, std::string_view token)
    : StoreWatch(parts.hub, parts.query), place_(query::PlaceOf(request)) {
  const absl::StatusOr<MemberId> member = MemberFrom(request.member());
  Begin(member.ok() ? absl::StatusOr<SweepId>(member->sweep) : member.status(), parts.access,
        token);
}

absl::StatusOr<MemberWatch::News> MemberWatch::Look(bool first) {
  NF_ASSIGN_OR_RETURN(query::MemberNews news, query().WatchMember(place_));
  if (first || news.moved) place_ = std::move(news.place);
  return News{std::move(news.response), news.moved, news.ended};
}

}  // namespace noisefloor
