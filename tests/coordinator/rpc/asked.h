// What people ask of a data directory and are told, without a server.
#pragma once

#include <string>

#include "gtest/gtest.h"

#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"
#include "tests/coordinator/query/filled_home.h"

namespace noisefloor {

// A query as the service answers.
class Asked {
 public:
  explicit Asked(query::Query& query) : query_(query) {}

  absl::StatusOr<v1::GetSweepResponse> GetSweep(uint64_t sweep) const {
    return Told(query_, query_.GetSweep(SweepId{sweep}));
  }
  absl::StatusOr<v1::ListSweepsResponse> ListSweeps(const v1::ListSweepsRequest& request) const {
    NF_ASSIGN_OR_RETURN(const query::SweepQuestion question, QuestionFrom(request));
    return Told(query_, query_.ListSweeps(question));
  }
  absl::StatusOr<v1::ListSweepsResponse> ListSweeps(v1::SweepView view) const {
    v1::ListSweepsRequest request;
    request.set_view(view);
    return ListSweeps(request);
  }
  absl::StatusOr<v1::ListMembersResponse> ListMembers(const v1::ListMembersRequest& request) const {
    NF_ASSIGN_OR_RETURN(const query::MemberQuestion question, QuestionFrom(SweepId{1}, request));
    return Told(query_, query_.ListMembers(question));
  }
  absl::StatusOr<v1::ListMembersResponse> ListMembers(v1::MemberView view) const {
    v1::ListMembersRequest request;
    request.set_view(view);
    return ListMembers(request);
  }
  absl::StatusOr<v1::GetMemberResponse> GetMember(const std::string& name) const {
    NF_ASSIGN_OR_RETURN(const MemberId member, MemberFrom(name));
    return Told(query_, query_.GetMember(member));
  }
  absl::StatusOr<v1::ListWorkersResponse> ListWorkers() const {
    return Told(query_, query_.ListWorkers());
  }
  absl::StatusOr<v1::WatchSweepResponse> WatchSweep(const query::SweepPlace& place) const {
    return Told(query_, query_.WatchSweep(place));
  }
  absl::StatusOr<v1::WatchMemberResponse> WatchMember(const std::string& name) const {
    return Told(query_, query_.WatchMember({.member = *ParseMemberId(name)}));
  }

 private:
  query::Query& query_;
};

class AskedTest : public ::testing::Test {
 protected:
  FilledHome home_;
  const Asked asked_{home_.query()};
};

}  // namespace noisefloor
