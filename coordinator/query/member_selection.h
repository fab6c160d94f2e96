// Which members of a list are asked for.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor::query {

// A set that is empty asks nothing.
struct MemberFilter {
  std::set<std::string, std::less<>> states;  // "waiting"
  std::set<std::string, std::less<>> plans;
  std::set<std::string, std::less<>> hardware;
  std::set<std::string, std::less<>> stacks;
  std::set<uint32_t> cells;
  std::set<std::pair<uint32_t, uint32_t>> members;  // Cell and replicate.
  std::set<std::string, std::less<>> workers;

  bool HasState(std::string_view state) const { return states.empty() || states.contains(state); }
};

// InvalidArgument names what makes no sense in the request for members of the sweep.
absl::StatusOr<MemberFilter> FilterOf(const v1::ListMembersRequest& request, SweepId sweep);

}  // namespace noisefloor::query
