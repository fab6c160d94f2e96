#include "coordinator/cli/listing.h"

#include <algorithm>

#include "fmt/format.h"

namespace noisefloor::cli {

namespace {

constexpr uint32_t kPageSize = 1000;

// A server that answers with the token it was given would be asked for ever.
absl::Status CheckToken(const std::string& before, const std::string& next) {
  if (next.empty() || next != before) return absl::OkStatus();
  return MakeError(absl::StatusCode::kInternal,
                   fmt::format("the coordinator repeats the page token {}", next));
}

// All that is long but the hashes.
void DropDetails(v1::Member& member) {
  member.clear_sources();
  member.clear_specification();
  if (!member.has_outcome()) return;
  member.mutable_outcome()->clear_environment();
  member.mutable_outcome()->clear_artifacts();
  member.mutable_outcome()->clear_per_class_accuracy();
}

}  // namespace

absl::StatusOr<std::vector<v1::SweepSummary>> ListSweeps(Connection& connection,
                                                         std::string* storage_problem,
                                                         bool archived, v1::SweepView view) {
  std::vector<v1::SweepSummary> all;
  v1::ListSweepsRequest request;
  request.set_archived(archived);
  request.set_view(view);
  request.set_page_size(kPageSize);
  do {
    NF_ASSIGN_OR_RETURN(const v1::ListSweepsResponse page,
                        connection.Call(&Stub::ListSweeps, request));
    all.insert(all.end(), page.sweeps().begin(), page.sweeps().end());
    if (storage_problem != nullptr) *storage_problem = page.storage_problem();
    NF_RETURN_IF_ERROR(CheckToken(request.page_token(), page.next_page_token()));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return all;
}

absl::Status VisitSelected(Connection& connection, const Listing& listing,
                           const std::function<void(v1::Member&&)>& visit) {
  v1::ListMembersRequest request;
  request.set_sweep_id(listing.sweep);
  *request.mutable_selection() = listing.selection;
  if (listing.selection.states_size() == 1) {  // Said so that an older coordinator hears it, too.
    request.set_state(listing.selection.states(0));
    request.mutable_selection()->clear_states();
  }
  request.set_view(listing.detail == Detail::kBasic ? v1::MEMBER_VIEW_BASIC : v1::MEMBER_VIEW_FULL);
  request.set_order_by(listing.order_by);
  uint32_t left = listing.limit == 0 ? UINT32_MAX : listing.limit;
  do {
    request.set_page_size(std::min(left, kPageSize));
    NF_ASSIGN_OR_RETURN(v1::ListMembersResponse page, connection.Call(&Stub::ListMembers, request));
    for (v1::Member& member : *page.mutable_members()) {
      if (left == 0) return absl::OkStatus();
      if (listing.detail == Detail::kHashes) DropDetails(member);
      visit(std::move(member));
      --left;
    }
    NF_RETURN_IF_ERROR(CheckToken(request.page_token(), page.next_page_token()));
    request.set_page_token(page.next_page_token());
  } while (left > 0 && !request.page_token().empty());
  return absl::OkStatus();
}

absl::Status VisitMembers(Connection& connection, uint64_t sweep, v1::MemberState state,
                          Detail detail, const std::function<void(v1::Member&&)>& visit) {
  Listing listing = {.sweep = sweep, .detail = detail};
  if (state != v1::MEMBER_STATE_UNSPECIFIED) listing.selection.add_states(state);
  return VisitSelected(connection, listing, visit);
}

absl::StatusOr<std::vector<v1::Member>> ListMembers(Connection& connection, uint64_t sweep,
                                                    v1::MemberState state, Detail detail) {
  std::vector<v1::Member> all;
  NF_RETURN_IF_ERROR(VisitMembers(connection, sweep, state, detail, [&all](v1::Member&& member) {
    all.push_back(std::move(member));
  }));
  return all;
}

absl::StatusOr<v1::Member> GetMember(Connection& connection, const std::string& member) {
  v1::GetMemberRequest request;
  request.set_member(member);
  NF_ASSIGN_OR_RETURN(v1::GetMemberResponse answer, connection.Call(&Stub::GetMember, request));
  return std::move(*answer.mutable_member());
}

}  // namespace noisefloor::cli
