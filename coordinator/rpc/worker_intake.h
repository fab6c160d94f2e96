// What workers say: checked, translated and posted to the loop.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/loop/event_loop.h"
#include "coordinator/rpc/session_registry.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

// Thread-safe; never blocks on the loop. Borrows what it is given.
class WorkerIntake {
 public:
  WorkerIntake(EventLoop& loop, SessionRegistry& registry, const BlobStore& blobs,
               const Clock& clock)
      : loop_(loop), registry_(registry), blobs_(blobs), clock_(clock) {}

  // One message of a stream, in order. `registered`: it is not the first; `caller`: whose token
  // opened the stream, for the log. Not OK: the stream must
  // be closed with it. InvalidArgument says what was expected, AlreadyExists that another worker
  // has the name, Unavailable that the coordinator stops.
  absl::Status Take(SessionId session, bool registered, const std::string& caller,
                    const v1::SessionRequest& message);

  // The stream has ended.
  void Lost(SessionId session);

 private:
  absl::Status Register(SessionId session, const std::string& caller, const v1::Register& message);
  void FillMissingFiles(scheduler::Event& event) const;

  EventLoop& loop_;
  SessionRegistry& registry_;
  const BlobStore& blobs_;
  const Clock& clock_;
};

}  // namespace noisefloor
