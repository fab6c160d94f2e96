#include "coordinator/rpc/sweep_watch.h"

#include <utility>

#include "common/base/reason.h"
#include "common/rpc/status.h"

namespace noisefloor {

namespace {

// What one who watches is told of; the rest of a sweep hardly ever changes.
bool SameProgress(const v1::SweepSummary& a, const v1::SweepSummary& b) {
  return a.waiting() == b.waiting() && a.leased() == b.leased() && a.done() == b.done() &&
         a.diverged() == b.diverged() && a.failed() == b.failed() &&
         a.cancelled() == b.cancelled() && a.progress() == b.progress();
}

bool HasEnded(const v1::SweepSummary& sweep) { return sweep.waiting() == 0 && sweep.leased() == 0; }

}  // namespace

SweepWatch::SweepWatch(Parts parts, v1::WatchSweepRequest request, std::string_view token)
    : hub_(parts.hub),
      query_(parts.query),
      storage_problem_(std::move(parts.storage_problem)),
      sweep_{request.sweep_id()},
      request_(std::move(request)),
      open_(parts.access, token, [this](const absl::Status& why) { Close(why); }) {
  const absl::Status added =
      sweep_ == SweepId{}  // What "the newest" is may change while it is watched.
          ? InvalidInput("sweep_id: expected the number of a sweep, from 1, got 0")
          : hub_.Add(sweep_, this);
  MutexLock lock(mutex_);
  if (added.ok()) {
    Advance();
  } else {
    CloseLocked(added);
  }
}

void SweepWatch::Wake() {
  MutexLock lock(mutex_);
  stale_ = true;
  Advance();
}

void SweepWatch::Close(const absl::Status& why) {
  MutexLock lock(mutex_);
  CloseLocked(why);
}

void SweepWatch::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  busy_ = false;
  if (!ok) return CloseLocked(absl::CancelledError());
  request_.set_resume_token(response_.resume_token());
  stale_ = true;  // There may be more than one answer's worth.
  Advance();
}

void SweepWatch::OnCancel() { Close(absl::CancelledError()); }

void SweepWatch::OnDone() {
  hub_.Remove(sweep_, this);
  { MutexLock lock(mutex_); }  // Whoever called Finish has left.
  delete this;
}

void SweepWatch::Read() {
  v1::WatchSweepRequest request;
  {
    MutexLock lock(mutex_);
    request = request_;
  }
  absl::StatusOr<v1::WatchSweepResponse> response = query_.WatchSweep(request);
  if (response.ok()) response->set_storage_problem(storage_problem_());
  MutexLock lock(mutex_);
  Take(std::move(response));
}

void SweepWatch::Take(absl::StatusOr<v1::WatchSweepResponse> response) {
  busy_ = false;
  if (!response.ok()) return CloseLocked(response.status());
  const bool moved = !SameProgress(response->sweep(), response_.sweep());
  const bool news = first_ || moved || response->resume_token() != request_.resume_token() ||
                    response->storage_problem() != response_.storage_problem();
  if (!news) {
    if (HasEnded(response->sweep())) return CloseLocked(absl::OkStatus());
    return Advance();
  }
  if (closing_) return Advance();
  first_ = false;
  response_ = *std::move(response);
  busy_ = true;
  StartWrite(&response_);
}

void SweepWatch::CloseLocked(const absl::Status& why) {
  if (!closing_) {
    closing_ = true;
    ending_ = why;
  }
  Advance();
}

void SweepWatch::Advance() {
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
