// How the loop reaches the workers' streams, without knowing what a stream is.
#pragma once

#include <cstddef>

#include "common/base/ids.h"
#include "coordinator/scheduler/effect.h"

namespace noisefloor {

// Called on the loop's thread; never blocks.
class WorkerLinks {
 public:
  virtual ~WorkerLinks() = default;

  // One of the sends that name a session. False when the session has gone: its SessionLost is then
  // on the way.
  virtual bool Deliver(const scheduler::Send& send) = 0;

  // The loop has dealt with `events` events of this session; it may read more.
  virtual void Consumed(SessionId session, size_t events) = 0;
};

}  // namespace noisefloor
