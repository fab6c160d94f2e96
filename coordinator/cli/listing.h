// Lists, whole: page tokens are followed to the end.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"

namespace noisefloor::cli {

// Archived ones only when they are asked for; what was submitted only in the full view.
// `storage_problem`: why the coordinator can keep nothing at present, or empty; may be null.
absl::StatusOr<std::vector<v1::SweepSummary>> ListSweeps(Connection& connection,
                                                         std::string* storage_problem = nullptr,
                                                         bool archived = false,
                                                         v1::SweepView view = v1::SWEEP_VIEW_BASIC);
// How much of each member is wanted: MEMBER_VIEW_BASIC; its hashes besides, for the room of those;
// MEMBER_VIEW_FULL.
enum class Detail { kBasic, kHashes, kFull };

// Which members are listed, in which order and how many.
struct Listing {
  uint64_t sweep = 0;  // 0: the newest.
  v1::MemberSelection selection = {};
  Detail detail = Detail::kBasic;
  std::string order_by = {};  // As in v1::ListMembersRequest.
  uint32_t limit = 0;         // 0: all.
};

// Calls `visit` for each as its page comes. No more is asked for than the limit.
absl::Status VisitSelected(Connection& connection, const Listing& listing,
                           const std::function<void(v1::Member&&)>& visit);
// Likewise all of them. Unspecified state: all.
absl::Status VisitMembers(Connection& connection, uint64_t sweep, v1::MemberState state,
                          Detail detail, const std::function<void(v1::Member&&)>& visit);
absl::StatusOr<std::vector<v1::Member>> ListMembers(Connection& connection, uint64_t sweep,
                                                    v1::MemberState state,
                                                    Detail detail = Detail::kBasic);
absl::StatusOr<v1::Member> GetMember(Connection& connection, const std::string& member);

}  // namespace noisefloor::cli
