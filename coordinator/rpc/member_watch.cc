#include "coordinator/rpc/member_watch.h"

#include <utility>

#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

MemberWatch::MemberWatch(Parts parts, const v1::WatchMemberRequest& request,
                         grpc::CallbackServerContext& context)
    : StoreWatch({parts.hub, parts.query, parts.idle}, context) {
  const absl::StatusOr<query::MemberPlace> place = PlaceFrom(request);
  if (place.ok()) place_ = *place;
  Begin(place.ok() ? absl::StatusOr<SweepId>(place->member.sweep) : place.status(), parts.access,
        context);
}

absl::StatusOr<MemberWatch::News> MemberWatch::Look(bool first) {
  NF_ASSIGN_OR_RETURN(query::MemberNews news, query().WatchMember(place_));
  const bool moved = news.moved;
  const bool ended = news.ended;
  if (first || moved) place_ = news.place;
  NF_ASSIGN_OR_RETURN(v1::WatchMemberResponse response,
                      Told(query(), absl::StatusOr<query::MemberNews>(std::move(news))));
  return News{std::move(response), moved, ended};
}

}  // namespace noisefloor
