// What a worker does with its slots: the decisions of the daemon, without the daemon.
//
// Every lease goes waiting -> running -> delivering -> finished and is forgotten when the
// coordinator settles it. Messages may come twice, late or not at all: what is to be told is told
// again on every new session and, while it is not confirmed, with every heartbeat; a drain, which
// nobody confirms, with all of them.
//
// Pure: no I/O, clock or thread; deterministic given the calls so far. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "worker/slots/lease_keeper.h"
#include "worker/slots/message.h"

namespace noisefloor::slots {

struct SlotsOptions {
  uint32_t slot_count = 1;
  // Of each slot a number of the device that it is of; empty: all are of one.
  std::vector<uint32_t> unit_of_slot = {};
  absl::Duration grace = absl::Seconds(10);  // Between SIGTERM and SIGKILL.
  bool standby = true;
  // A trainer that lets one of these pass without a word hangs, and is ended.
  absl::Duration hello_timeout = absl::InfiniteDuration();    // From its start to its hello.
  absl::Duration silence_timeout = absl::InfiniteDuration();  // From then on, between two events.
  // From SIGKILL to its end. One that outlives it is given up, and with it the slot: nothing new is
  // begun, and the worker leaves when the others are done.
  absl::Duration kill_timeout = absl::InfiniteDuration();
};

class Slots {
 public:
  explicit Slots(SlotsOptions options);

  [[nodiscard]] Actions Step(const Message& message, absl::Duration now);

  // For Register: leases with a trainer or a result, in order.
  std::vector<Held> HeldLeases() const;
  bool Has(LeaseId lease) const { return leases_.contains(lease); }
  // Has it, or had it in this session: a start that names it is an echo.
  bool Knows(LeaseId lease) const { return Has(lease) || ended_.contains(lease); }
  bool draining() const { return draining_; }
  // Step(Tick) is of use from then on; infinite when nothing waits for time to pass.
  absl::Duration NextTick() const;

 private:
  enum class Phase : uint8_t {
    kWaiting,     // For its slot.
    kRunning,     // A trainer trains, or is being stopped.
    kDelivering,  // The result is in the spool; its files travel.
    kFinished,    // The files are there; waits for Settled. Delivered again in a new session.
  };
  struct Lease {
    TrainerKey key;
    bool forks = false;
    Phase phase = Phase::kWaiting;
    uint32_t slot = 0;
    bool said_hello = false;
    bool spoke = false;  // Any event of its trainer came.
    bool said_outcome = false;
    bool stopping = false;
    bool unwanted = false;  // Forget it when its trainer has gone.
    bool late = false;      // Stopped after its end: only the outcome is told, for comparison.
    bool prepared = false;  // A standby or a fork server was asked for while it ran.
    absl::Duration silent_at = absl::InfiniteDuration();  // Its trainer hangs, from then on.
    absl::Duration kill_at = absl::InfiniteDuration();
    absl::Duration give_up_at = absl::InfiniteDuration();  // It was killed before.
    uint64_t sequence = 0;                                 // Highest batch in the spool.
    uint64_t kept = 0;            // Highest batch that the coordinator has.
    uint64_t kept_last_beat = 0;  // The same, at the last heartbeat.
    uint64_t sent_last_beat = 0;
    bool finished_last_beat = false;
    int64_t step = 0;
    int64_t step_count = 0;
  };
  struct Slot {
    std::optional<LeaseId> lease;
    std::optional<TrainerKey> standby;
    uint32_t unit = 0;
    bool lost = false;  // A trainer that was given up is in it.
  };
  // A machine that fails pauses all slots on the same device, and no others.
  struct Unit {
    int failures = 0;                                      // In a row.
    absl::Duration resume_at = -absl::InfiniteDuration();  // Nothing is started before.
  };

  void On(const Connected& message, absl::Duration now, Actions& actions);
  void On(const Disconnected& message, absl::Duration now, Actions& actions);
  void On(const HeartbeatSent& message, absl::Duration now, Actions& actions);
  void On(const StartMember& message, absl::Duration now, Actions& actions);
  void On(const StopMember& message, absl::Duration now, Actions& actions);
  void On(const RecordsKept& message, absl::Duration now, Actions& actions);
  void On(const Settled& message, absl::Duration now, Actions& actions);
  void On(const ResultFound& message, absl::Duration now, Actions& actions);
  void On(const DataComes& message, absl::Duration now, Actions& actions);
  void On(const TrainerHello& message, absl::Duration now, Actions& actions);
  void On(const TrainerRecords& message, absl::Duration now, Actions& actions);
  void On(const TrainerProgress& message, absl::Duration now, Actions& actions);
  void On(const TrainerSpoke& message, absl::Duration now, Actions& actions);
  void On(const TrainerBroken& message, absl::Duration now, Actions& actions);
  void On(const TrainerSaidOutcome& message, absl::Duration now, Actions& actions);
  void On(const MachineFailed& message, absl::Duration now, Actions& actions);
  void On(const TrainerEnded& message, absl::Duration now, Actions& actions);
  void On(const StandbyEnded& message, absl::Duration now, Actions& actions);
  void On(const Delivered& message, absl::Duration now, Actions& actions);
  void On(const Drain& message, absl::Duration now, Actions& actions);
  void On(const Hurry& message, absl::Duration now, Actions& actions);
  void On(const Tick& message, absl::Duration now, Actions& actions);

  Lease* Find(LeaseId lease);
  void FillSlots(absl::Duration now, Actions& actions);
  void PlaceIn(uint32_t slot, LeaseId id, absl::Duration now, Actions& actions);
  void FreeSlot(LeaseId id, Lease& lease, absl::Duration now, Actions& actions);
  void Stop(LeaseId id, Lease& lease, const std::string& reason, absl::Duration now,
            Actions& actions);
  void Heard(Lease& lease, absl::Duration now) const;
  // The coordinator lost the lease, but it has ended here: the outcome alone is still told.
  void TellLate(LeaseId id, Lease& lease, Actions& actions);
  // Nothing of the lease is wanted: stops its trainer first when it has one.
  void Drop(LeaseId id, const std::string& reason, absl::Duration now, Actions& actions);
  void Erase(LeaseId id, Actions& actions);
  void StopSilent(absl::Duration now, Actions& actions);
  void KillOverdue(absl::Duration now, Actions& actions);
  void GiveUpUndying(absl::Duration now, Actions& actions);
  void Beat(absl::Duration now, Actions& actions);
  void TellAgain(LeaseId id, Lease& lease, Actions& actions) const;
  // In the second half of a training: what the next one will want.
  void PrepareNext(Lease& lease, Actions& actions);
  TrainerKey NextKey(uint32_t slot) const;
  void EndStandbys(Actions& actions);
  void LeaveIfDone(absl::Duration now, Actions& actions);

  const SlotsOptions options_;
  std::vector<Slot> slots_;
  std::map<uint32_t, Unit> units_;
  std::map<LeaseId, Lease> leases_;
  std::vector<LeaseId> waiting_;  // In order of arrival.
  std::set<LeaseId> ended_;       // Erased in this session, the newest: echoes are ignored.
  LeaseKeeper keeper_;            // Leases that are waiting or running.
  // Of what is not forked: which key was started after a key the last time, and the newest of all.
  std::map<TrainerKey, TrainerKey> follower_;
  std::optional<TrainerKey> newest_;
  bool serves_forks_ = false;  // A fork server was asked for.
  bool connected_ = false;
  bool draining_ = false;
  bool left_ = false;
  absl::Duration heartbeat_interval_ = absl::InfiniteDuration();
  absl::Duration next_beat_ = absl::InfiniteDuration();
  absl::Duration hurry_until_ = absl::InfiniteDuration();  // Finite once in a hurry.
  bool hurry_is_over_ = false;                             // Seen by a tick.
};

}  // namespace noisefloor::slots
