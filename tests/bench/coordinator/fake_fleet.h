// Workers that train nothing: the sessions of real ones, each on a connection of its own, all in
// one process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/rpc/backoff.h"
#include "noisefloor/v1/worker_api.grpc.pb.h"
#include "tests/bench/coordinator/messages.h"
#include "tests/bench/coordinator/target.h"

namespace noisefloor::bench {

class FakeFleet;
class FakeSession;

struct FleetShape {
  size_t workers = 1;
  uint32_t slots = 1;
  std::string prefix = "w";
  std::string hardware = kHardware;
  bool reconnect = false;  // As the real worker does: after 0.1 to 5 s.
};

// One worker. Thread-safe.
class FakeWorker {
 public:
  FakeWorker(FakeFleet& fleet, const Target& target, const FleetShape& shape, size_t place);

  size_t place() const { return place_; }  // In the fleet, from 0.
  // Opens a session; the worker has none at present.
  void Open() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing without a session that was welcomed.
  void Say(v1::SessionRequest message) ABSL_LOCKS_EXCLUDED(mutex_);
  // The hello and the end of the trainer of a lease.
  void Begin(uint64_t lease) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(uint64_t lease, uint64_t batches) ABSL_LOCKS_EXCLUDED(mutex_);
  // The hello, `batches` batches of `records` records, the end.
  void Live(uint64_t lease, int batches, int records) ABSL_LOCKS_EXCLUDED(mutex_);
  void Heartbeat() ABSL_LOCKS_EXCLUDED(mutex_);
  size_t leases() const ABSL_LOCKS_EXCLUDED(mutex_);
  v1::WorkerService::Stub& stub() { return *stub_; }

 private:
  friend class FakeSession;
  struct Lease {
    double since = 0;       // Seconds() when it was given.
    uint64_t sequence = 0;  // Of the last batch that was said.
    bool ended = false;     // Its end was said; said again after a reconnect.
    std::string data;       // Identity.
  };

  void On(const v1::SessionResponse& message) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWelcome(const v1::Welcome& message) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnStart(const v1::StartMember& message) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnSettled(const v1::Settled& message) ABSL_LOCKS_EXCLUDED(mutex_);
  void Closed(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  void SayLocked(v1::SessionRequest message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  FakeFleet& fleet_;
  const FleetShape shape_;
  const size_t place_;
  const std::string name_;
  const std::unique_ptr<v1::WorkerService::Stub> stub_;

  mutable Mutex mutex_;
  FakeSession* session_ ABSL_GUARDED_BY(mutex_) = nullptr;  // Its own owner; leaves through Closed.
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);
};

// What its workers do. Called on gRPC's threads, for one worker one at a time, without locks; any
// may be empty.
struct Conduct {
  std::function<void(FakeWorker&, const v1::StartMember&)> start;
  std::function<void(FakeWorker&, uint64_t lease, uint64_t sequence)> kept;
  std::function<void(FakeWorker&, double lived_seconds)> settled;  // Accepted.
};

// Counted by all workers together. Times are those of Seconds().
struct Tally {
  std::atomic<size_t> welcomed{0};  // Welcomes.
  std::atomic<size_t> lost{0};      // Sessions that were welcomed and have ended.
  std::atomic<size_t> started{0};
  std::atomic<size_t> settled{0};  // Accepted.
  std::atomic<size_t> refused{0};
  std::atomic<size_t> stopped{0};
  std::atomic<double> last_welcome{0};
  std::atomic<double> last_loss{0};
};

// Thread-safe. Heartbeats are spread over the interval that the coordinator named.
class FakeFleet {
 public:
  FakeFleet(const Target& target, FleetShape shape, Conduct conduct);
  // Ends the sessions and waits for that.
  ~FakeFleet();

  // Opens every session; the connections stand first.
  void Connect();
  // Exits with a message when not all are welcomed within a minute.
  void ConnectAll();
  // No call of the conduct comes afterwards.
  void Stop();

  FakeWorker& worker(size_t place) { return *workers_[place]; }
  const Tally& tally() const { return tally_; }
  size_t leases() const;
  // Why the last session ended, or a result was refused; empty: neither happened.
  std::string problem() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class FakeWorker;
  friend class FakeSession;
  void Tick();
  void ReopenAt(double when, FakeWorker* worker) ABSL_LOCKS_EXCLUDED(mutex_);
  void Note(const std::string& problem) ABSL_LOCKS_EXCLUDED(mutex_);
  void SessionOpened(FakeSession* session) ABSL_LOCKS_EXCLUDED(mutex_);
  void SessionEnded(FakeSession* session) ABSL_LOCKS_EXCLUDED(mutex_);

  const Conduct conduct_;
  Tally tally_;
  std::atomic<double> heartbeat_seconds_{3};
  std::vector<std::unique_ptr<FakeWorker>> workers_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;  // shared: as gRPC's stubs hold them.

  mutable Mutex mutex_;
  CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<FakeSession*> sessions_ ABSL_GUARDED_BY(mutex_);  // Open ones.
  std::multimap<double, FakeWorker*> reopen_ ABSL_GUARDED_BY(mutex_);
  std::string problem_ ABSL_GUARDED_BY(mutex_);
  std::thread ticker_;
};

}  // namespace noisefloor::bench
