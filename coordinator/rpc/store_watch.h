// What streams have in common that tell a client what is read of the store, again and again.
#pragma once

#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/rpc/status.h"
#include "coordinator/query/query.h"
#include "coordinator/rpc/access_book.h"
#include "coordinator/rpc/awaited.h"
#include "coordinator/rpc/call_patience.h"
#include "coordinator/rpc/caller.h"
#include "coordinator/rpc/watch_hub.h"

namespace noisefloor {

// Sends what Look finds first, then what it finds moved after each change of the sweep, and ends
// with OK when it finds that all has ended. One read of the store or one write in flight; what
// changes meanwhile is read together afterwards, so a slow client gets fewer and larger messages.
// One that is closed and takes nothing for `idle` is cut off.
//
// Thread-safe. gRPC owns it from construction; it deletes itself in OnDone.
template <typename Response>
class StoreWatch : public grpc::ServerWriteReactor<Response>, public Watcher {
 public:
  void Wake() final ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    stale_ = true;
    Advance();
  }
  void Close(const absl::Status& why) final ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(mutex_);
    CloseLocked(why);
  }

 protected:
  struct News {
    Response response;
    bool moved = false;  // Since what was sent; else it is not sent, unless it is the first.
    bool ended = false;
  };

  struct Reads {
    WatchHub& hub;
    query::Query& query;
    absl::Duration idle;
  };
  StoreWatch(const Reads& reads, grpc::CallbackServerContext& context)
      : hub_(reads.hub), query_(reads.query), idle_(reads.idle), untaken_(context) {}

  // The last thing that a constructor does. `sweep`: whose changes wake it, or why there is no such
  // watch. It ends when the token of the call proves nobody any more.
  void Begin(const absl::StatusOr<SweepId>& sweep, AccessBook& access,
             const grpc::CallbackServerContext& context) ABSL_LOCKS_EXCLUDED(mutex_) {
    open_.emplace(access, TokenOf(context), [this](const absl::Status& why) { Close(why); });
    absl::Status added = sweep.status();
    if (sweep.ok()) {
      sweep_ = *sweep;
      added = hub_.Add(sweep_, this);
    }
    MutexLock lock(mutex_);
    if (added.ok()) {
      Advance();
    } else {
      CloseLocked(added);
    }
  }

  // On query's thread; never beside another one, nor beside a write: what only this touches needs
  // no lock. `first`: it is sent in any case.
  virtual absl::StatusOr<News> Look(bool first) = 0;

  query::Query& query() { return query_; }
  // What was sent last. For Look.
  const Response& sent() const ABSL_NO_THREAD_SAFETY_ANALYSIS { return response_; }

 private:
  void OnWriteDone(bool ok) final {
    MutexLock lock(mutex_);
    busy_ = false;
    untaken_.Stop();
    if (!ok) return CloseLocked(absl::CancelledError());
    stale_ = true;  // There may be more than one answer's worth, or it has ended.
    Advance();
  }
  void OnCancel() final { Close(absl::CancelledError()); }
  void OnDone() final {
    hub_.Remove(sweep_, this);
    { MutexLock lock(mutex_); }  // Whoever called Finish has left.
    delete this;
  }

  void Read() ABSL_LOCKS_EXCLUDED(mutex_) {
    bool first = false;
    {
      MutexLock lock(mutex_);
      first = first_;
    }
    absl::StatusOr<News> news = Look(first);
    MutexLock lock(mutex_);
    busy_ = false;
    untaken_.Stop();
    if (!news.ok()) return CloseLocked(news.status());
    if (!first_ && !news->moved) {
      if (news->ended) return CloseLocked(absl::OkStatus());
      return Advance();
    }
    if (closing_) return Advance();
    first_ = false;
    response_ = std::move(news->response);
    busy_ = true;
    this->StartWrite(&response_);
  }

  void CloseLocked(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!closing_) {
      closing_ = true;
      ending_ = why;
      if (busy_) untaken_.Start(idle_);
    }
    Advance();
  }

  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (busy_ || finished_) return;
    if (closing_) {
      finished_ = true;
      this->Finish(ToGrpc(ending_));
      return;
    }
    if (!stale_) return;
    stale_ = false;
    busy_ = query_.Post(query::Work::kWatch, [this] { Read(); });
    if (!busy_) CloseLocked(TooManyWait("watches"));
  }

  WatchHub& hub_;
  query::Query& query_;
  const absl::Duration idle_;
  SweepId sweep_;  // Constant after Begin; 0: there is no such watch.

  Mutex mutex_;
  Response response_ ABSL_GUARDED_BY(mutex_);  // gRPC's while it is written.
  bool first_ ABSL_GUARDED_BY(mutex_) = true;
  bool stale_ ABSL_GUARDED_BY(mutex_) = true;  // Something changed after the last read began.
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // A read or a write is in flight.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status ending_ ABSL_GUARDED_BY(mutex_);
  CallPatience untaken_ ABSL_GUARDED_BY(mutex_);  // While it is closing and busy.
  // Last: it may close the stream at once. Its book's lock comes before ours.
  std::optional<OpenStream> open_;
};

}  // namespace noisefloor
