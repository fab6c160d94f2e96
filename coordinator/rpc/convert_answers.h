// What query tells, as messages, and what people ask, as query's values.
//
// Page tokens are made and read here: query speaks of the last sweep or member that was told, and a
// token is its name. Clients give back what they were given and read nothing in it. Pure; any
// thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/texts.h"
#include "coordinator/sweep/sweep.h"
#include "noisefloor/v1/coordinator_api.pb.h"

namespace noisefloor {

// --- Answers. Every text goes through `texts`, to be checked at the end: see Told.

v1::Sweep ToProto(const sweep::SweepRequest& submitted, Texts& texts);
v1::SweepSummary ToProto(const query::SweepSummary& sweep, Texts& texts);
v1::GetSweepResponse ToProto(query::SweepWhole whole, Texts& texts);
v1::ListSweepsResponse ToProto(const query::SweepPage& page, Texts& texts);
v1::WatchSweepResponse ToProto(query::SweepNews news, Texts& texts);
v1::Member ToProto(query::Member member, Texts& texts);
v1::ListMembersResponse ToProto(query::MemberPage page, Texts& texts);
v1::GetMemberResponse ToProto(query::MemberWhole whole, Texts& texts);
v1::Event ToProto(query::Event event, Texts& texts);
v1::WatchMemberResponse ToProto(query::MemberNews news, Texts& texts);
// `connected`, `draining`, `running` and `paused` are for the registry to fill.
v1::ListWorkersResponse ToProto(std::vector<query::WorkerRow> workers, Texts& texts);

// What was found as a message; the error that there was, or DataLoss for texts that nobody can
// read.
template <typename Value>
auto Told(const query::Query& query, absl::StatusOr<Value> found)
    -> absl::StatusOr<decltype(ToProto(*std::move(found), std::declval<Texts&>()))> {
  if (!found.ok()) return found.status();
  Texts texts;
  auto message = ToProto(*std::move(found), texts);
  NF_RETURN_IF_ERROR(texts.Check(query.database_path()));
  return message;
}

// --- Questions. InvalidArgument for what makes no sense, by the name of the field.

absl::StatusOr<query::SweepQuestion> QuestionFrom(const v1::ListSweepsRequest& request);
// `sweep`: the one that is asked about, which is not 0.
absl::StatusOr<query::MemberQuestion> QuestionFrom(SweepId sweep,
                                                   const v1::ListMembersRequest& request);
absl::StatusOr<query::StudyQuestion> QuestionFrom(const v1::GetStudyRequest& request);
// Where a watch begins that asks so.
absl::StatusOr<query::MemberPlace> PlaceFrom(const v1::WatchMemberRequest& request);

}  // namespace noisefloor
