// One client that watches a sweep.
#pragma once

#include <functional>
#include <string>

#include "coordinator/rpc/store_watch.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor {

// Sends what happened since the resume token, then each change as it is on disk, until the sweep
// has ended. That nothing can be kept, and that it can again, are changes too. What was submitted
// is sent first, and again when notes, tags or extent have changed.
class SweepWatch final : public StoreWatch<v1::WatchSweepResponse> {
 public:
  struct Parts {
    WatchHub& hub;
    query::Query& query;
    AccessBook& access;
    absl::Duration idle;                           // As of StoreWatch.
    std::function<std::string()> storage_problem;  // As in CoordinatorServiceImpl::Parts.
  };
  // Ends when the token of the call proves nobody any more.
  SweepWatch(Parts parts, const v1::WatchSweepRequest& request,
             grpc::CallbackServerContext& context);

 private:
  absl::StatusOr<News> Look(bool first) override;

  const std::function<std::string()> storage_problem_;
  query::SweepPlace place_;  // Look's: after what was found.
};

}  // namespace noisefloor
