// One client that watches a member.
#pragma once

#include "coordinator/rpc/store_watch.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor {

// Sends what the member has measured and what happened to it, then each change as it is on disk,
// until the member has ended. The sweep's changes wake it: the loop knows nothing of members that
// are watched.
class MemberWatch final : public StoreWatch<v1::WatchMemberResponse> {
 public:
  struct Parts {
    WatchHub& hub;
    query::Query& query;
    AccessBook& access;
    absl::Duration idle;  // As of StoreWatch.
  };
  // Ends when the token of the call proves nobody any more.
  MemberWatch(Parts parts, const v1::WatchMemberRequest& request,
              grpc::CallbackServerContext& context);

 private:
  absl::StatusOr<News> Look(bool first) override;

  query::MemberPlace place_;  // Look's: after what was sent.
};

}  // namespace noisefloor
