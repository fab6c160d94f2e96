// One client that watches a sweep.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "grpcpp/support/server_callback.h"

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/watch_hub.h"
#include "noisefloor/v1/coordinator_api.grpc.pb.h"

namespace noisefloor {

// Sends what happened since the resume token, then each change as it is on disk, and ends with OK
// when the sweep has ended. That nothing can be kept, and that it can again, are changes too. One
// read of the store or one write in flight; what changes meanwhile is read together afterwards, so
// a slow client gets fewer and larger messages.
//
// Thread-safe. gRPC owns it from construction; it deletes itself in OnDone.
class SweepWatch final : public grpc::ServerWriteReactor<v1::WatchSweepResponse>, public Watcher {
 public:
  struct Parts {
    WatchHub& hub;
    query::Query& query;
    AccessBook& access;
    std::function<std::string()> storage_problem;  // As in CoordinatorServiceImpl::Parts.
  };
  // Ends when `token` proves nobody any more.
  SweepWatch(Parts parts, v1::WatchSweepRequest request, std::string_view token);

  void Wake() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(const absl::Status& why) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Read() ABSL_LOCKS_EXCLUDED(mutex_);
  void Take(absl::StatusOr<v1::WatchSweepResponse> response) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchHub& hub_;
  query::Query& query_;
  const std::function<std::string()> storage_problem_;
  const SweepId sweep_;

  Mutex mutex_;
  v1::WatchSweepRequest request_ ABSL_GUARDED_BY(mutex_);    // Its token moves with what was sent.
  v1::WatchSweepResponse response_ ABSL_GUARDED_BY(mutex_);  // gRPC's while it is written.
  bool first_ ABSL_GUARDED_BY(mutex_) = true;
  bool stale_ ABSL_GUARDED_BY(mutex_) = true;  // The sweep changed after the last read began.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // A read or a write is in flight.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);
  OpenStream open_;  // Last: it may close the stream at once. Its book's lock comes before ours.
};

}  // namespace noisefloor
