// The worker's heartbeat while the worker itself waits for its disk: a sync that takes longer than
// a lease's time to live must not cost the lease.
#pragma once

#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "absl/time/time.h"

#include "common/base/mutex.h"
#include "noisefloor/v1/worker_api.pb.h"
#include "worker/daemon/session.h"

namespace noisefloor {

// All functions are the worker's thread's. A thread of its own beats while that one waits: nothing
// else is said meanwhile, so what the heartbeat names stays what is held.
class Pulse {
 public:
  // A disk that has not answered for so long is taken for lost: the heartbeat ends, the leases of
  // this worker run out, and others train its members.
  static constexpr absl::Duration kLongestWait = absl::Minutes(10);

  Pulse();
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  // A session that takes heartbeats at that interval. Call Close before it goes.
  void Open(Session& session, absl::Duration interval);
  void Close();

  // From now on until the end of this object the worker may wait for its disk.
  class [[nodiscard]] Wait {
   public:
    // `heartbeat` names all that is held. `pulse` outlives this object.
    Wait(Pulse& pulse, v1::SessionRequest heartbeat) : pulse_(pulse) {
      pulse_.Begin(std::move(heartbeat));
    }
    ~Wait() { pulse_.End(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    Pulse& pulse_;
  };

 private:
  void Begin(v1::SessionRequest heartbeat);
  void End();
  void Run();
  void BeatUntilTheEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  Session* session_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteDuration();
  std::optional<v1::SessionRequest> heartbeat_ ABSL_GUARDED_BY(mutex_);  // While it waits.
  uint64_t waits_ ABSL_GUARDED_BY(mutex_) = 0;                           // That have begun.
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace noisefloor
