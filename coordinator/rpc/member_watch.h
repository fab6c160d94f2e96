// One client that watches a member.
#pragma once

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

// Sends what the member has measured and what happened to it, then each change as it is on disk,
// and ends with OK when the member has ended. As a SweepWatch it has one read of the store or one
// write in flight, so a slow client gets fewer and larger messages. The sweep's changes wake it:
// the loop knows nothing of members that are watched.
//
// Thread-safe. gRPC owns it from construction; it deletes itself in OnDone.
class MemberWatch final : public grpc::ServerWriteReactor<v1::WatchMemberResponse>, public Watcher {
 public:
  struct Parts {
    WatchHub& hub;
    query::Query& query;
    AccessBook& access;
  };
  // Ends when `token` proves nobody any more.
  MemberWatch(Parts parts, const v1::WatchMemberRequest& request, std::string_view token);

  void Wake() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(const absl::Status& why) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  void Read() ABSL_LOCKS_EXCLUDED(mutex_);
  void Take(absl::StatusOr<query::MemberNews> news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CloseLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchHub& hub_;
  query::Query& query_;
  SweepId sweep_;  // Constant after construction; 0: the request named no member.

  Mutex mutex_;
  query::MemberPlace place_ ABSL_GUARDED_BY(mutex_);          // After what was sent.
  v1::WatchMemberResponse response_ ABSL_GUARDED_BY(mutex_);  // gRPC's while it is written.
  bool first_ ABSL_GUARDED_BY(mutex_) = true;
  bool stale_ ABSL_GUARDED_BY(mutex_) = true;  // Something changed after the last read began.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // A read or a write is in flight.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);
  OpenStream open_;  // Last: it may close the stream at once. Its book's lock comes before ours.
};

}  // namespace noisefloor
