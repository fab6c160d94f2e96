#include "coordinator/rpc/sweep_watch.h"

#include <algorithm>
#include <utility>

#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"

namespace noisefloor {

namespace {

// What people set. It is read before the events of its change, which may so have been told beside
// what was set before.
bool SameSettings(const v1::SweepSummary& a, const v1::SweepSummary& b) {
  const auto has_limit = [&](const auto& limit) {
    const auto found = b.limits().find(limit.first);
    return found != b.limits().end() && found->second == limit.second;
  };
  return a.priority() == b.priority() && a.weight() == b.weight() && a.paused() == b.paused() &&
         a.archived() == b.archived() && a.max_failures() == b.max_failures() &&
         a.gpu_hours() == b.gpu_hours() && a.limits_size() == b.limits_size() &&
         std::ranges::all_of(a.limits(), has_limit);
}

// What one who watches is told of; the rest of a sweep does not change.
bool SameProgress(const v1::SweepSummary& a, const v1::SweepSummary& b) {
  return a.cells() == b.cells() && a.waiting() == b.waiting() && a.leased() == b.leased() &&
         a.done() == b.done() && a.diverged() == b.diverged() && a.failed() == b.failed() &&
         a.cancelled() == b.cancelled() && a.progress() == b.progress() &&
         a.undecided() == b.undecided() && SameSettings(a, b);
}

bool HasEnded(const v1::SweepSummary& sweep) {
  return sweep.waiting() == 0 && sweep.leased() == 0 && !sweep.undecided();
}

}  // namespace

SweepWatch::SweepWatch(Parts parts, const v1::WatchSweepRequest& request,
                       grpc::CallbackServerContext& context)
    : StoreWatch({parts.hub, parts.query, parts.idle}, context),
      storage_problem_(std::move(parts.storage_problem)),
      place_{SweepId{request.sweep_id()}, EventId{request.resume_token()}, std::nullopt} {
  // Not "the newest": what that is may change while it is watched.
  Begin(SweepFrom(request.sweep_id()), parts.access, context);
}

absl::StatusOr<SweepWatch::News> SweepWatch::Look(bool) {
  NF_ASSIGN_OR_RETURN(query::SweepNews news, query().WatchSweep(place_));
  const query::SweepPlace before = std::exchange(place_, news.place);
  NF_ASSIGN_OR_RETURN(v1::WatchSweepResponse response,
                      Told(query(), absl::StatusOr<query::SweepNews>(std::move(news))));
  response.set_storage_problem(storage_problem_());
  const bool moved = !SameProgress(response.sweep(), sent().sweep()) ||
                     place_.after != before.after || place_.revision != before.revision ||
                     response.storage_problem() != sent().storage_problem();
  const bool ended = HasEnded(response.sweep());
  return News{std::move(response), moved, ended};
}

}  // namespace noisefloor
