// What people ask for, and which page of it.
#include <optional>

#include "fmt/format.h"

#include "coordinator/rpc/convert.h"
#include "coordinator/rpc/convert_answers.h"
#include "coordinator/rpc/member_token.h"

namespace noisefloor {

namespace {

absl::StatusOr<uint32_t> PageSizeFrom(uint32_t asked) {
  constexpr uint32_t kUsual = 100;
  constexpr uint32_t kMost = 1000;
  if (asked > kMost) {
    return InvalidInput(fmt::format("page_size: expected at most {}, got {}", kMost, asked));
  }
  return asked == 0 ? kUsual : asked;
}

absl::Status NotOfAnAnswer(std::string_view which) {
  return InvalidInput(fmt::format("page_token: not one of an earlier answer{}", which));
}

}  // namespace

absl::StatusOr<query::SweepQuestion> QuestionFrom(const v1::ListSweepsRequest& request) {
  query::SweepQuestion question;
  NF_ASSIGN_OR_RETURN(question.most, PageSizeFrom(request.page_size()));
  if (!request.page_token().empty()) {
    question.after = ParseSweepId(request.page_token());
    if (!question.after) return NotOfAnAnswer("");
  }
  if (!v1::SweepView_IsValid(request.view())) {
    return InvalidInput(
        fmt::format("view: expected one of SweepView, got {}", int{request.view()}));
  }
  question.archived = request.archived();
  const bool full = request.view() == v1::SWEEP_VIEW_FULL;
  question.view = full ? query::SweepView::kFull : query::SweepView::kBasic;
  return question;
}

absl::StatusOr<query::MemberQuestion> QuestionFrom(SweepId sweep,
                                                   const v1::ListMembersRequest& request) {
  query::MemberQuestion question;
  question.sweep = sweep;
  NF_ASSIGN_OR_RETURN(question.most, PageSizeFrom(request.page_size()));
  NF_ASSIGN_OR_RETURN(question.order, MemberOrderFrom(request.order_by()));
  if (!request.page_token().empty()) {
    std::optional<MemberToken> token = ParseMemberToken(request.page_token());
    if (!token || token->after.sweep != sweep) return NotOfAnAnswer(" about this sweep");
    if (token->order != question.order) return NotOfAnAnswer(" in this order");
    question.after = token->after;
    question.after_key = std::move(token->key);
  }
  if (!v1::MemberView_IsValid(request.view())) {
    return InvalidInput(
        fmt::format("view: expected one of MemberView, got {}", int{request.view()}));
  }
  const bool full = request.view() == v1::MEMBER_VIEW_FULL;
  question.view = full ? query::MemberView::kFull : query::MemberView::kBasic;
  NF_ASSIGN_OR_RETURN(question.selection, SelectionFrom(sweep, request.selection()));
  if (request.state() != v1::MEMBER_STATE_UNSPECIFIED) {
    NF_ASSIGN_OR_RETURN(const MemberState state, StateFrom("state", request.state()));
    question.selection.states.insert(state);
  }
  return question;
}

absl::StatusOr<query::StudyQuestion> QuestionFrom(const v1::GetStudyRequest& request) {
  query::StudyQuestion question;
  question.sweep = SweepId{request.sweep_id()};
  question.colour = request.colour();
  question.columns = request.columns();
  switch (request.form()) {
    case v1::GetStudyRequest::FORM_JSON: question.form = query::StudyForm::kJson; break;
    case v1::GetStudyRequest::FORM_TABLES: question.form = query::StudyForm::kTables; break;
    case v1::GetStudyRequest::FORM_CSV: question.form = query::StudyForm::kCsv; break;
    case v1::GetStudyRequest::FORM_PAGE: question.form = query::StudyForm::kPage; break;
    case v1::GetStudyRequest::FORM_INPUT: question.form = query::StudyForm::kInput; break;
    default: return InvalidInput("form: expected JSON, TABLES, CSV, PAGE or INPUT");
  }
  return question;
}

absl::StatusOr<query::MemberPlace> PlaceFrom(const v1::WatchMemberRequest& request) {
  query::MemberPlace place;
  NF_ASSIGN_OR_RETURN(place.member, MemberFrom(request.member()));
  if (request.lease() == 0) return place;
  place.first = place.lease = LeaseId{request.lease()};
  place.events = 1;  // That it was granted.
  place.after_step = request.after_step();
  return place;
}

}  // namespace noisefloor
