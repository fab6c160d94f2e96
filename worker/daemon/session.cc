#include "worker/daemon/session.h"

#include <utility>

#include "common/rpc/status.h"

namespace noisefloor {

namespace {
constexpr size_t kMostOutboxBytes = 32 << 20;
}  // namespace

Session::Session(v1::WorkerService::StubInterface& stub, const v1::SessionRequest& first,
                 SessionListener& listener)
    : listener_(listener) {
  stub.async()->Session(&context_, this);
  AddHold();  // Send writes from outside the reactions; taken back when reading ends.
  {
    MutexLock lock(mutex_);
    outbox_.push_back(first);
    outbox_bytes_ += first.ByteSizeLong();
    WriteNext();
  }
  StartRead(&inbound_);
  StartCall();
}

bool Session::Send(v1::SessionRequest message) {
  const size_t bytes = message.ByteSizeLong();
  MutexLock lock(mutex_);
  if (closing_ || outbox_bytes_ + bytes > kMostOutboxBytes) return false;
  outbox_.push_back(std::move(message));
  outbox_bytes_ += bytes;
  if (!writing_) WriteNext();
  return true;
}

void Session::Consumed(size_t bytes) {
  MutexLock lock(mutex_);
  --unread_;
  unread_bytes_ -= bytes;
  ReadMore();
}

void Session::ReadMore() {
  if (reading_ || unread_ >= kMostUnread || unread_bytes_ >= kMostUnreadBytes) return;
  reading_ = true;
  StartRead(&inbound_);
}

void Session::WriteNext() {
  writing_ = true;
  StartWrite(&outbox_.front());
}

void Session::OnReadDone(bool ok) {
  if (ok) {
    v1::SessionResponse message = std::exchange(inbound_, {});
    {
      MutexLock lock(mutex_);  // Before the owner can say that it has dealt with it.
      ++unread_;
      unread_bytes_ += message.ByteSizeLong();
    }
    listener_.OnMessage(std::move(message));
    MutexLock lock(mutex_);
    reading_ = false;
    ReadMore();
    return;
  }
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  RemoveHold();
}

void Session::OnWriteDone(bool ok) {
  bool heartbeat = false;
  {
    MutexLock lock(mutex_);
    heartbeat = ok && outbox_.front().has_heartbeat();
    outbox_bytes_ -= outbox_.front().ByteSizeLong();
    outbox_.pop_front();
    writing_ = false;
    if (!ok) closing_ = true;
    if (!closing_ && !outbox_.empty()) WriteNext();
  }
  if (heartbeat) listener_.OnHeartbeatTaken();
}

void Session::OnDone(const grpc::Status& status) {
  // Nothing of this object is touched after the call: its owner may destroy it.
  listener_.OnClosed(FromGrpc(status));
}

}  // namespace noisefloor
