#include "coordinator/query/member_selection.h"

#include <fmt/format.h>

#include <optional>

#include "coordinator/query/to_proto.h"

namespace noisefloor::query {

namespace {

absl::Status TakeState(int state, MemberFilter& filter) {
  if (!v1::MemberState_IsValid(state) || state == v1::MEMBER_STATE_UNSPECIFIED) {
    return InvalidInput(
        fmt::format("selection.states: expected one of MemberState, got {}", state));
  }
  filter.states.emplace(NameOf(static_cast<v1::MemberState>(state)));
  return absl::OkStatus();
}

absl::Status TakeMember(const std::string& name, SweepId sweep, MemberFilter& filter) {
  const std::optional<MemberId> member = ParseMemberId(name);
  if (!member || member->sweep != sweep) {
    return InvalidInput(fmt::format("selection.members: expected members of {}, got \"{}\"",
                                    ToText(sweep), std::string_view(name).substr(0, 100)));
  }
  filter.members.emplace(member->cell, member->replicate);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemberFilter> FilterOf(const v1::ListMembersRequest& request, SweepId sweep) {
  const v1::MemberSelection& selection = request.selection();
  MemberFilter filter;
  if (request.state() != v1::MEMBER_STATE_UNSPECIFIED) {
    filter.states.emplace(NameOf(request.state()));
  }
  for (const int state : selection.states()) NF_RETURN_IF_ERROR(TakeState(state, filter));
  filter.plans.insert(selection.plans().begin(), selection.plans().end());
  filter.hardware.insert(selection.hardware().begin(), selection.hardware().end());
  filter.stacks.insert(selection.stacks().begin(), selection.stacks().end());
  filter.cells.insert(selection.cells().begin(), selection.cells().end());
  filter.workers.insert(selection.workers().begin(), selection.workers().end());
  for (const std::string& name : selection.members()) {
    NF_RETURN_IF_ERROR(TakeMember(name, sweep, filter));
  }
  return filter;
}

}  // namespace noisefloor::query
