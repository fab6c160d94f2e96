#include "coordinator/rpc/worker_session.h"

#include <utility>

#include "fmt/format.h"
#include "grpc/support/time.h"

#include "common/rpc/status.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/session_registry.h"
#include "coordinator/rpc/worker_intake.h"

namespace noisefloor {

WorkerSession::WorkerSession(SessionRegistry& registry, WorkerIntake& intake, AccessBook& access,
                             grpc::CallbackServerContext& context, const Waits& waits)
    : registry_(registry),
      intake_(intake),
      caller_(CallerOf(context)),
      idle_(waits.idle),
      untaken_(context),
      alive_(std::make_shared<Alive>()),
      open_(access, TokenOf(context), [this](const absl::Status& why) { Close(why); }) {
  id_ = registry_.Add(this);  // Here, when every member lives: it may close the stream at once.
  ExpectRegister(waits.register_by);
  MutexLock lock(mutex_);
  ReadMore();
}

WorkerSession::~WorkerSession() {
  MutexLock lock(alive_->mutex);
  alive_->session = nullptr;
}

void WorkerSession::ExpectRegister(absl::Duration register_by) {
  {
    MutexLock lock(alive_->mutex);
    alive_->session = this;
  }
  const gpr_timespec wait =
      gpr_time_from_millis(absl::ToInt64Milliseconds(register_by), GPR_TIMESPAN);
  register_by_.Set(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait), [alive = alive_, register_by](bool rang) {
        MutexLock lock(alive->mutex);
        if (!rang || alive->session == nullptr) return;
        alive->session->Close(
            MakeError(absl::StatusCode::kDeadlineExceeded,
                      fmt::format("the first message of a session: expected register within {}",
                                  absl::FormatDuration(register_by))));
      });
}

void WorkerSession::Send(v1::SessionResponse message) {
  const size_t bytes = message.ByteSizeLong();
  MutexLock lock(mutex_);
  if (closing_) return;
  const bool full =
      outbox_.size() >= kOutboxLimit || (!outbox_.empty() && outbox_bytes_ + bytes > kOutboxBytes);
  if (full) {
    CloseLocked(MakeError(absl::StatusCode::kResourceExhausted,
                          "the worker does not read what the coordinator sends"));
    return;
  }
  outbox_.push_back(std::move(message));
  outbox_bytes_ += bytes;
  WriteOrFinish();
}

void WorkerSession::Close(const absl::Status& why) {
  MutexLock lock(mutex_);
  CloseLocked(why);
}

void WorkerSession::Consumed(size_t messages) {
  MutexLock lock(mutex_);
  for (size_t i = 0; i < messages && !unconsumed_.empty(); ++i) {
    unconsumed_bytes_ -= unconsumed_.front();
    unconsumed_.pop_front();
  }
  ReadMore();
}

void WorkerSession::OnReadDone(bool ok) {
  if (!ok) return Close(absl::OkStatus());
  if (!registered_) register_by_.Cancel();
  {
    MutexLock lock(mutex_);
    // Before the loop can say that it has dealt with it.
    unconsumed_.push_back(inbound_.ByteSizeLong());
    unconsumed_bytes_ += unconsumed_.back();
  }
  const absl::Status taken = intake_.Take(id_, registered_, caller_, inbound_);
  registered_ = true;
  inbound_.Clear();
  MutexLock lock(mutex_);
  reading_ = false;
  if (!taken.ok()) return CloseLocked(taken);
  ReadMore();
}

void WorkerSession::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  untaken_.Stop();
  if (!outbox_.empty()) {
    outbox_bytes_ -= outbox_.front().ByteSizeLong();
    outbox_.pop_front();
  }
  if (!ok) {
    outbox_.clear();
    closing_ = true;
  }
  WriteOrFinish();
}

void WorkerSession::OnDone() {
  registry_.Leave(id_);  // From here on nobody else has a pointer to this stream.
  if (registered_) intake_.Lost(id_);
  registry_.ReleaseName(id_);
  delete this;
}

void WorkerSession::CloseLocked(const absl::Status& why) {
  if (closing_) return;
  closing_ = true;
  ending_ = why;
  if (!why.ok()) outbox_.resize(writing_ ? 1 : 0);  // The one in flight is gRPC's.
  if (writing_) untaken_.Start(idle_);
  WriteOrFinish();
}

void WorkerSession::ReadMore() {
  if (reading_ || closing_) return;
  if (unconsumed_.size() >= kWindow || unconsumed_bytes_ >= kWindowBytes) return;
  reading_ = true;
  StartRead(&inbound_);
}

void WorkerSession::WriteOrFinish() {
  if (writing_ || finished_) return;
  if (!outbox_.empty()) {
    writing_ = true;
    if (closing_) untaken_.Start(idle_);
    grpc::WriteOptions options;
    if (outbox_.size() > 1) options.set_buffer_hint();  // The next follows at once.
    StartWrite(&outbox_.front(), options);
  } else if (closing_) {
    finished_ = true;
    Finish(ToGrpc(ending_));
  }
}

}  // namespace noisefloor
