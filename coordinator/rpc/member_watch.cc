#include "coordinator/rpc/member_watch.h"

#include <utility>

#include "common/base/reason.h"
#include "common/rpc/status.h"
#include "coordinator/query/member_news.h"
#include "coordinator/rpc/convert.h"

namespace noisefloor {

MemberWatch::MemberWatch(Parts parts, const v1::WatchMemberRequest& request, std::string_view token)
    : hub_(parts.hub),
      query_(parts.query),
      place_(query::PlaceOf(request)),
      open_(parts.access, token, [this](const absl::Status& why) { Close(why); }) {
  const absl::StatusOr<MemberId> member = MemberFrom(request.member());
  absl::Status added = member.status();
  if (member.ok()) {
    sweep_ = member->sweep;
    added = hub_.Add(sweep_, this);
  }
  MutexLock lock(mutex_);
  if (added.ok()) {
    Advance();
  } else {
    CloseLocked(added);
  }
}

void MemberWatch::Wake() {
  MutexLock lock(mutex_);
  stale_ = true;
  Advance();
}

void MemberWatch::Close(const absl::Status& why) {
  MutexLock lock(mutex_);
  CloseLocked(why);
}

void MemberWatch::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  busy_ = false;
  if (!ok) return CloseLocked(absl::CancelledError());
  stale_ = true;  // There may be more than one answer's worth, or it has ended.
  Advance();
}

void MemberWatch::OnCancel() { Close(absl::CancelledError()); }

void MemberWatch::OnDone() {
  hub_.Remove(sweep_, this);
  { MutexLock lock(mutex_); }  // Whoever called Finish has left.
  delete this;
}

void MemberWatch::Read() {
  query::MemberPlace place;
  {
    MutexLock lock(mutex_);
    place = place_;
  }
  absl::StatusOr<query::MemberNews> news = query_.WatchMember(place);
  MutexLock lock(mutex_);
  Take(std::move(news));
}

void MemberWatch::Take(absl::StatusOr<query::MemberNews> news) {
  busy_ = false;
  if (!news.ok()) return CloseLocked(news.status());
  if (closing_) return Advance();
  if (!first_ && !news->moved) {
    if (news->ended) return CloseLocked(absl::OkStatus());
    return Advance();
  }
  first_ = false;
  place_ = std::move(news->place);
  response_ = std::move(news->response);
  busy_ = true;
  StartWrite(&response_);
}

void MemberWatch::CloseLocked(const absl::Status& why) {
  if (!closing_) {
    closing_ = true;
    ending_ = why;
  }
  Advance();
}

void MemberWatch::Advance() {
  if (busy_ || finished_) return;
  if (closing_) {
    finished_ = true;
    Finish(ToGrpc(ending_));
    return;
  }
  if (!stale_) return;
  stale_ = false;
  busy_ = query_.Post(query::Work::kWatch, [this] { Read(); });
  if (!busy_) {
    CloseLocked(Because(
        MakeError(absl::StatusCode::kResourceExhausted, "too many watches are waiting; try again"),
        Reason::kTooBusy));
  }
}

}  // namespace noisefloor
