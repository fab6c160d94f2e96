// The part of Slots that keeps both sides of a session agreed.
#include "worker/slots/slots.h"

namespace noisefloor::slots {

void Slots::On(const Connected& message, absl::Duration now, Actions& actions) {
  connected_ = true;
  heartbeat_interval_ = message.heartbeat_interval;
  next_beat_ = now + heartbeat_interval_;
  keeper_.SetTtl(message.lease_ttl);
  keeper_.RenewAll(now);
  // Nothing of an older session is on its way any more: a number that comes now is a new lease,
  // even if a coordinator whose home was reset gives it for the second time.
  ended_.clear();
  if (draining_) actions.push_back(SendDraining{});
  for (auto& [id, lease] : leases_) {
    if (lease.unwanted) continue;
    // What was delivered to a coordinator that has moved may not have come with it.
    const bool again = lease.phase == Phase::kFinished && !lease.late;
    if (again) lease.phase = Phase::kDelivering;
    TellAgain(id, lease, actions);
    if (again) actions.push_back(Deliver{id});
  }
}

void Slots::On(const Disconnected&, absl::Duration, Actions&) {
  connected_ = false;
  next_beat_ = absl::InfiniteDuration();
}

void Slots::On(const HeartbeatSent&, absl::Duration now, Actions&) { keeper_.RenewAll(now); }

void Slots::On(const RecordsKept& message, absl::Duration, Actions&) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || message.sequence > lease->sequence) return;
  if (message.sequence > lease->kept) lease->kept = message.sequence;
}

// Everything the coordinator may have missed, in the order in which it happened.
void Slots::TellAgain(LeaseId id, Lease& lease, Actions& actions) const {
  if (lease.said_hello && lease.phase == Phase::kRunning) actions.push_back(SendStarted{id});
  if (lease.sequence > lease.kept) {
    actions.push_back(SendRecords{id, lease.kept + 1, lease.sequence});
  }
  lease.kept_last_beat = lease.kept;
  lease.sent_last_beat = lease.sequence;
  lease.finished_last_beat = lease.phase == Phase::kFinished;
  if (lease.phase == Phase::kFinished) actions.push_back(SendFinished{id});
}

// The heartbeat itself, and again what was told before the last one and is still not confirmed.
void Slots::Beat(absl::Duration now, Actions& actions) {
  next_beat_ = now + heartbeat_interval_;
  actions.push_back(SendHeartbeat{HeldLeases()});
  if (draining_) actions.push_back(SendDraining{});
  for (auto& [id, lease] : leases_) {
    if (lease.unwanted) continue;
    const bool stuck = lease.sent_last_beat > lease.kept && lease.kept == lease.kept_last_beat;
    const bool finished = lease.phase == Phase::kFinished;
    const bool finish_unheard = finished && lease.finished_last_beat;
    if (stuck || finish_unheard) {
      TellAgain(id, lease, actions);
    } else {
      lease.kept_last_beat = lease.kept;
      lease.sent_last_beat = lease.sequence;
      lease.finished_last_beat = finished;
    }
  }
}

}  // namespace noisefloor::slots
