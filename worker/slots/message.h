// What happens to a worker, and what it shall do then: the two languages of Slots.
//
// Plain values. `now` and all times are steady time since an arbitrary start.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

#include "common/base/ids.h"

namespace noisefloor::slots {

// What a trainer process must be started with; a standby serves exactly one of these.
struct TrainerKey {
  std::string stack;           // "torch-2.11-cu130"
  std::string hardware_class;  // "cpu-amd-avx2"
  std::string variables;       // Distinguishes further variables of one class; usually empty.
  friend auto operator<=>(const TrainerKey&, const TrainerKey&) = default;
};

// A lease as a heartbeat names it.
struct Held {
  LeaseId lease;
  uint64_t sequence = 0;  // Highest record batch that the trainer wrote.
  int64_t step = 0;
  int64_t step_count = 0;
  friend bool operator==(const Held&, const Held&) = default;
};

// --- From the coordinator and the session ---

struct Connected {  // Welcome came; Register named every lease of Slots::HeldLeases().
  absl::Duration heartbeat_interval;
  absl::Duration lease_ttl;
};
struct Disconnected {};
struct HeartbeatSent {};  // The session took the last heartbeat.
struct StartMember {      // Desired state: may come again.
  LeaseId lease;
  uint32_t slot = 0;  // Below SlotsOptions::slot_count. What ran there may still be ending.
  TrainerKey key;
  bool forks = false;  // A fork server can make its trainer; else a standby can.
};
struct StopMember {
  LeaseId lease;
  std::string reason;
};
struct RecordsKept {
  LeaseId lease;
  uint64_t sequence = 0;
};
struct Settled {
  LeaseId lease;
};

// --- From this machine ---

// A result from the spool, or an attempt that failed before it had a trainer: only delivery is
// left.
struct ResultFound {
  LeaseId lease;
  uint64_t sequence = 0;
};
// What its trainer needs before it starts is on its way, or its trainer reads it: it does not hang.
struct DataComes {
  LeaseId lease;
};
struct TrainerHello {
  LeaseId lease;
};
struct TrainerRecords {  // They are in the spool.
  LeaseId lease;
  uint64_t sequence = 0;
};
struct TrainerProgress {
  LeaseId lease;
  int64_t step = 0;
  int64_t step_count = 0;
};
struct TrainerSpoke {  // Any other event: a sign of life.
  LeaseId lease;
};
// Nothing of the attempt is of use any more: end its trainer.
struct TrainerBroken {
  LeaseId lease;
  std::string reason = "it broke the trainer protocol";
};
// Its trainer has said how it ended. Only its process is still there, and gets the grace to go.
struct TrainerSaidOutcome {
  LeaseId lease;
};
// The attempt ended for want of this machine, and its outcome says so: no trainer could be started,
// or it lost its disk or its device.
struct MachineFailed {
  LeaseId lease;
};
struct TrainerEnded {  // Its process has gone and its outcome is in the spool.
  LeaseId lease;
};
struct StandbyEnded {  // By itself; a standby that Slots ended or used is not reported.
  uint32_t slot = 0;
};
struct Delivered {  // Every file of it is at the coordinator.
  LeaseId lease;
};
struct Drain {};  // Finish what is here, then leave.
struct Hurry {};  // Stop what runs, then leave.
struct Tick {};   // Time has passed.

using Message =
    std::variant<Connected, Disconnected, HeartbeatSent, StartMember, StopMember, RecordsKept,
                 Settled, ResultFound, DataComes, TrainerHello, TrainerRecords, TrainerProgress,
                 TrainerSpoke, TrainerBroken, TrainerSaidOutcome, MachineFailed, TrainerEnded,
                 StandbyEnded, Delivered, Drain, Hurry, Tick>;

// --- What to do, in this order ---

struct StartTrainer {
  uint32_t slot = 0;
  LeaseId lease;
  TrainerKey key;
  bool use_standby = false;  // The slot's standby is of this key and becomes the trainer.
};
struct StartStandby {
  uint32_t slot = 0;
  TrainerKey key;
};
struct EndStandby {
  uint32_t slot = 0;
};
struct KeepForkServer {  // Start one unless it is there: it makes the trainers of the key, later.
  uint32_t slot = 0;     // Whose trainer runs.
  TrainerKey key;
};
struct EndForkServers {};
struct TerminateTrainer {  // SIGTERM to its process group.
  LeaseId lease;
  std::string reason;
  bool hung = false;  // It went silent: this machine is to blame, not whoever stops it.
};
struct KillTrainer {  // SIGKILL to its process group.
  LeaseId lease;
};
// It hangs in the kernel. What it has said is its result, to be kept; no end of it is awaited.
struct GiveUpTrainer {
  LeaseId lease;
};
struct Deliver {  // Upload its files, then report Delivered.
  LeaseId lease;
};
struct DropFiles {  // Stop its uploads; its outcome is told without them.
  LeaseId lease;
};
struct Forget {  // Remove it from the spool, stop its uploads.
  LeaseId lease;
};
struct SendStarted {
  LeaseId lease;
};
struct SendRecords {  // Batches first to last from the spool.
  LeaseId lease;
  uint64_t first = 0;
  uint64_t last = 0;
};
struct SendFinished {
  LeaseId lease;
};
struct SendHeartbeat {
  std::vector<Held> held;
};
struct SendDraining {};
struct Leave {};  // Nothing is left to do: end the program.

using Action =
    std::variant<StartTrainer, StartStandby, EndStandby, KeepForkServer, EndForkServers,
                 TerminateTrainer, KillTrainer, GiveUpTrainer, Deliver, DropFiles, Forget,
                 SendStarted, SendRecords, SendFinished, SendHeartbeat, SendDraining, Leave>;
using Actions = std::vector<Action>;

std::string Describe(const Action& action);  // "start trainer of lease 7 in slot 0", for logs

}  // namespace noisefloor::slots
