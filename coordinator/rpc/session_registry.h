// Every open stream of a worker, by the number of its session and by the worker's name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/loop/worker_links.h"
#include "coordinator/rpc/convert.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

class WorkerSession;

// Thread-safe. Borrows the sessions: each leaves in its OnDone before it dies, and nobody outside
// gets a pointer to one. Lock order: registry, then session.
class SessionRegistry final : public WorkerLinks {
 public:
  // `limit`: of workers; one more is refused with ResourceExhausted. As many streams again may not
  // have registered yet: of more the oldest is closed.
  SessionRegistry(size_t limit, WelcomeTimes times) : limit_(limit), times_(times) {}

  // Numbers a new stream; closes it at once when the coordinator stops.
  SessionId Add(WorkerSession* session) ABSL_LOCKS_EXCLUDED(mutex_);

  // Gives the worker's name to this session. An older session of the same name and identity is
  // closed and returned: its loss must be told before the new worker. AlreadyExists when a worker
  // of another identity has the name now, ResourceExhausted when there are too many.
  absl::StatusOr<std::optional<SessionId>> ClaimName(SessionId session, const std::string& name,
                                                     uint64_t identity) ABSL_LOCKS_EXCLUDED(mutex_);

  // First and last step of a stream that ends; between them its loss is told.
  void Leave(SessionId session) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseName(SessionId session) ABSL_LOCKS_EXCLUDED(mutex_);

  bool Deliver(const scheduler::Send& send) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Consumed(SessionId session, size_t events) override ABSL_LOCKS_EXCLUDED(mutex_);

  // Closes every stream, and from now on each new one, with this status.
  void CloseAll(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void CloseOldestUnnamed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Holder {
    SessionId session;
    uint64_t identity = 0;
  };

  const size_t limit_;
  const WelcomeTimes times_;
  Mutex mutex_;
  uint64_t last_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<SessionId, WorkerSession*> sessions_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Holder> names_ ABSL_GUARDED_BY(mutex_);
  std::set<SessionId> unnamed_ ABSL_GUARDED_BY(mutex_);  // Of sessions_: not registered yet.
  absl::Status stopping_ ABSL_GUARDED_BY(mutex_);        // Not OK: new streams are closed with it.
};

}  // namespace noisefloor
