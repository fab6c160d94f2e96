// One stream to the coordinator. A session that has closed is thrown away and another is made.
#pragma once

#include <deque>

#include "grpcpp/support/client_callback.h"

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

// What a session tells its owner; called on gRPC's threads, must not wait.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnMessage(v1::SessionResponse message) = 0;
  virtual void OnHeartbeatTaken() = 0;
  // Last; from then on the session may be destroyed, by another thread.
  virtual void OnClosed(absl::Status status) = 0;
};

// Send and Cancel from any thread. Destroy only after OnClosed.
class Session final : public grpc::ClientBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  // Opens the stream with `first`, the registration. The listener outlives the session.
  Session(v1::WorkerService::StubInterface& stub, const v1::SessionRequest& first,
          SessionListener& listener);

  // False when the session is closing or 32 MiB wait for the network: the message is dropped, and
  // sent again when the next heartbeat finds it unconfirmed.
  bool Send(v1::SessionRequest message);
  // The owner has dealt with a message of so many bytes. While kMostUnread messages or
  // kMostUnreadBytes of them wait for it nothing is read, and the coordinator is slowed by HTTP/2's
  // own flow control; one message may go over.
  void Consumed(size_t bytes);
  static constexpr size_t kMostUnread = 1024;
  static constexpr size_t kMostUnreadBytes = 1 << 20;
  // OnClosed follows.
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionListener& listener_;
  grpc::ClientContext context_;
  v1::SessionResponse inbound_;  // Of the one read in flight.
  Mutex mutex_;
  std::deque<v1::SessionRequest> outbox_ ABSL_GUARDED_BY(mutex_);  // Front: being written.
  size_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t unread_ ABSL_GUARDED_BY(mutex_) = 0;  // Messages that wait for the owner.
  size_t unread_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace noisefloor
