// One worker's stream.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/alarm.h"
#include "grpcpp/support/server_callback.h"

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/call_patience.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"

namespace noisefloor {

class SessionRegistry;
class WorkerIntake;

// Thread-safe. gRPC owns it from construction; in OnDone it leaves the registry and deletes itself.
// Only reactions and the registry (which OnDone leaves before anything dies) reach it, so nobody
// holds a pointer to a dead stream. Lock order: registry, then session.
//
// Reads stop while `kWindow` of its messages or `kWindowBytes` wait for the loop, so that a worker
// that talks faster than the disk syncs is slowed by HTTP/2's own flow control. One message may go
// over it: the most that waits is kWindowBytes and one message of the server's limit (16 MiB).
class WorkerSession final
    : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  static constexpr size_t kWindow = 1024;  // Messages.
  static constexpr size_t kWindowBytes = 1 << 20;
  // What waits for a worker that does not read; one more and it is closed. A message that is larger
  // than the bytes is sent when nothing else waits.
  static constexpr size_t kOutboxLimit = 10000;  // Messages.
  static constexpr size_t kOutboxBytes = 16 << 20;

  struct Waits {
    absl::Duration register_by;  // One that has not registered by then is closed.
    absl::Duration idle;         // One that is closing and takes no message for so long is cut off.
  };
  // Ends when the token of the call proves nobody any more.
  WorkerSession(SessionRegistry& registry, WorkerIntake& intake, AccessBook& access,
                grpc::CallbackServerContext& context, const Waits& waits);
  ~WorkerSession() override;

  // Queues a message; nothing once the stream is closing.
  void Send(v1::SessionResponse message) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the stream with this status. What is queued is sent first when the status is OK, what is
  // being written in any case.
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // The loop has dealt with so many of its messages.
  void Consumed(size_t messages) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What an alarm may still reach when the session has gone.
  struct Alive {
    Mutex mutex;
    WorkerSession* session ABSL_GUARDED_BY(mutex) = nullptr;
  };

  void ExpectRegister(absl::Duration register_by);
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  void CloseLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReadMore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteOrFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  SessionRegistry& registry_;
  WorkerIntake& intake_;
  const std::string caller_;  // For the log.
  const absl::Duration idle_;
  SessionId id_;                // Constant after construction.
  bool registered_ = false;     // Reactions to reads only; those never overlap.
  v1::SessionRequest inbound_;  // Between StartRead and OnReadDone gRPC's, else the reaction's.

  Mutex mutex_;
  std::deque<v1::SessionResponse> outbox_ ABSL_GUARDED_BY(mutex_);
  size_t outbox_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<size_t> unconsumed_ ABSL_GUARDED_BY(mutex_);  // Bytes of each message that waits.
  size_t unconsumed_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);
  CallPatience untaken_ ABSL_GUARDED_BY(mutex_);  // While it is closing and a message is written.
  const std::shared_ptr<Alive> alive_;            // shared: with the alarm, which may ring later.
  grpc::Alarm register_by_;  // Cancelled by the first message, and with the session.
  OpenStream open_;  // Last: it may close the stream at once. Its book's lock comes before ours.
};

}  // namespace noisefloor
