#include "worker/slots/slots.h"

#include <algorithm>
#include <utility>

namespace noisefloor::slots {

namespace {
// Leases rise for ever, so the newest few are enough to recognise an echo.
constexpr size_t kEndedKept = 1024;

// A machine that cannot start trainers, or whose trainers fail for want of it, is asked again soon,
// but does not burn one member after the other.
constexpr absl::Duration kFirstPause = absl::Seconds(1);
constexpr absl::Duration kLongestPause = absl::Minutes(1);

absl::Duration PauseAfter(int failures) {
  return std::min(kFirstPause * (1 << std::min(failures - 1, 10)), kLongestPause);
}

std::string Limit(absl::Duration limit, std::string_view option) {
  return absl::FormatDuration(limit) + " (" + std::string(option) + ")";
}

}  // namespace

Slots::Slots(SlotsOptions options)
    : options_(std::move(options)), slots_(options_.slot_count), units_({{0, {}}}) {
  for (size_t i = 0; i < std::min(slots_.size(), options_.unit_of_slot.size()); ++i) {
    slots_[i].unit = options_.unit_of_slot[i];
    units_[slots_[i].unit] = {};
  }
}

Actions Slots::Step(const Message& message, absl::Duration now) {
  Actions actions;
  if (left_) return actions;
  std::visit([&](const auto& m) { On(m, now, actions); }, message);
  LeaveIfDone(now, actions);
  return actions;
}

std::vector<Held> Slots::HeldLeases() const {
  std::vector<Held> held;
  for (const auto& [id, lease] : leases_) {
    if (lease.unwanted || lease.late) continue;
    held.push_back({id, lease.sequence, lease.step, lease.step_count});
  }
  return held;
}

absl::Duration Slots::NextTick() const {
  absl::Duration next = std::min(next_beat_, keeper_.NextExpiry());
  // Once it has passed, only the end of what still runs is waited for.
  if (!hurry_is_over_) next = std::min(next, hurry_until_);
  for (const auto& [id, lease] : leases_) {
    next = std::min({next, lease.kill_at, lease.silent_at, lease.give_up_at});
  }
  for (const LeaseId id : waiting_) {
    const Slot& slot = slots_[leases_.at(id).slot];
    if (!slot.lease && !slot.lost) next = std::min(next, units_.at(slot.unit).resume_at);
  }
  return next;
}

void Slots::On(const StartMember& message, absl::Duration now, Actions& actions) {
  if (Knows(message.lease)) return;
  Lease& lease = leases_[message.lease];
  lease.slot = message.slot;
  lease.key = message.key;
  lease.forks = message.forks;
  waiting_.push_back(message.lease);
  keeper_.Add(message.lease, now);
  FillSlots(now, actions);
}

void Slots::On(const StopMember& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr) return;
  if (lease->phase == Phase::kDelivering || lease->phase == Phase::kFinished) {
    return TellLate(message.lease, *lease, actions);
  }
  Drop(message.lease, message.reason, now, actions);
}

void Slots::On(const Settled& message, absl::Duration now, Actions& actions) {
  Drop(message.lease, "the coordinator has settled the lease", now, actions);
}

void Slots::On(const ResultFound& message, absl::Duration, Actions& actions) {
  if (Knows(message.lease)) return;
  Lease& lease = leases_[message.lease];
  lease.phase = Phase::kDelivering;
  lease.sequence = message.sequence;
  if (connected_ && lease.sequence > 0) {
    actions.push_back(SendRecords{message.lease, 1, lease.sequence});
  }
  actions.push_back(Deliver{message.lease});
}

void Slots::On(const DataComes& message, absl::Duration now, Actions&) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kRunning || lease->spoke || lease->stopping)
    return;
  lease->silent_at = now + options_.hello_timeout;
}

void Slots::On(const TrainerHello& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->unwanted) return;
  Heard(*lease, now);
  lease->said_hello = true;
  if (connected_) actions.push_back(SendStarted{message.lease});
}

void Slots::On(const TrainerRecords& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->unwanted) return;
  Heard(*lease, now);
  const uint64_t first = lease->sequence + 1;
  lease->sequence = std::max(lease->sequence, message.sequence);
  if (connected_ && first <= lease->sequence) {
    actions.push_back(SendRecords{message.lease, first, lease->sequence});
  }
}

void Slots::On(const TrainerProgress& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kRunning) return;
  Heard(*lease, now);
  lease->step = message.step;
  lease->step_count = message.step_count;
  // What comes next loads while the second half trains, so that it is warm when the slot falls free
  // and no trainer's start is disturbed.
  const bool late = message.step_count > 0 && message.step * 2 >= message.step_count;
  if (late && options_.standby && !draining_ && !lease->stopping) PrepareNext(*lease, actions);
}

void Slots::PrepareNext(Lease& lease, Actions& actions) {
  if (std::exchange(lease.prepared, true)) return;
  if (lease.forks) {
    serves_forks_ = true;
    actions.push_back(KeepForkServer{lease.slot, lease.key});
    return;
  }
  Slot& slot = slots_[lease.slot];
  if (slot.standby.has_value()) return;
  slot.standby = NextKey(lease.slot);
  actions.push_back(StartStandby{lease.slot, *slot.standby});
}

// What is started next, as far as one can know: what waits for the slot, else what followed the
// newest start the last time (members come class by class, or in turn), past what standbys wait
// for.
TrainerKey Slots::NextKey(uint32_t index) const {
  for (const LeaseId id : waiting_) {
    const Lease& lease = leases_.at(id);
    if (lease.slot == index && !lease.forks) return lease.key;
  }
  std::multiset<TrainerKey> ready;
  for (const Slot& slot : slots_) {
    if (slot.standby) ready.insert(*slot.standby);
  }
  const auto taken = [&](const TrainerKey& key) {
    const auto it = ready.find(key);
    if (it == ready.end()) return false;
    ready.erase(it);
    return true;
  };
  TrainerKey key = *newest_;
  do {
    if (const auto it = follower_.find(key); it != follower_.end()) key = it->second;
  } while (taken(key));
  return key;
}

void Slots::On(const TrainerSpoke& message, absl::Duration now, Actions&) {
  if (Lease* lease = Find(message.lease); lease != nullptr) Heard(*lease, now);
}

void Slots::On(const TrainerBroken& message, absl::Duration now, Actions& actions) {
  if (Lease* lease = Find(message.lease); lease != nullptr && lease->phase == Phase::kRunning) {
    Stop(message.lease, *lease, message.reason, now, actions);
  }
}

void Slots::On(const TrainerSaidOutcome& message, absl::Duration now, Actions&) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kRunning || lease->stopping) return;
  lease->said_outcome = true;
  lease->silent_at = absl::InfiniteDuration();
  lease->kill_at = now + options_.grace;
}

void Slots::On(const MachineFailed& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kRunning) return;
  Unit& unit = units_.at(slots_[lease->slot].unit);
  unit.resume_at = now + PauseAfter(++unit.failures);
  FreeSlot(message.lease, *lease, now, actions);
}

void Slots::On(const TrainerEnded& message, absl::Duration now, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kRunning) return;
  units_.at(slots_[lease->slot].unit).failures = 0;
  FreeSlot(message.lease, *lease, now, actions);
}

void Slots::FreeSlot(LeaseId id, Lease& lease, absl::Duration now, Actions& actions) {
  slots_[lease.slot].lease.reset();
  keeper_.Remove(id);
  lease.kill_at = lease.silent_at = lease.give_up_at = absl::InfiniteDuration();
  if (lease.unwanted) {
    Erase(id, actions);
  } else {
    lease.phase = Phase::kDelivering;
    actions.push_back(Deliver{id});
  }
  FillSlots(now, actions);
}

void Slots::On(const StandbyEnded& message, absl::Duration, Actions&) {
  if (message.slot < slots_.size()) slots_[message.slot].standby.reset();
}

void Slots::On(const Delivered& message, absl::Duration, Actions& actions) {
  Lease* lease = Find(message.lease);
  if (lease == nullptr || lease->phase != Phase::kDelivering) return;
  lease->phase = Phase::kFinished;
  if (connected_) actions.push_back(SendFinished{message.lease});
}

void Slots::On(const Drain&, absl::Duration, Actions& actions) {
  if (draining_) return;
  draining_ = true;
  EndStandbys(actions);
  if (connected_) actions.push_back(SendDraining{});
}

void Slots::On(const Hurry&, absl::Duration now, Actions& actions) {
  On(Drain{}, now, actions);
  if (hurry_until_ != absl::InfiniteDuration()) return;
  // Time for the trainers to end and for their last words to be settled.
  hurry_until_ = now + 2 * options_.grace;
  for (const LeaseId id : std::vector<LeaseId>(waiting_)) Erase(id, actions);
  for (auto& [id, lease] : leases_) {
    if (lease.phase == Phase::kRunning) Stop(id, lease, "the worker is leaving", now, actions);
  }
}

void Slots::On(const Tick&, absl::Duration now, Actions& actions) {
  hurry_is_over_ = now >= hurry_until_;
  for (const LeaseId id : keeper_.Expired(now)) {
    // Its end is still reported: the coordinator may learn of it before it misses the lease.
    keeper_.Remove(id);
    Lease& lease = leases_.at(id);
    if (lease.phase == Phase::kWaiting) {
      Erase(id, actions);
    } else {
      Stop(id, lease, "the coordinator was not reached for the life of the lease", now, actions);
    }
  }
  StopSilent(now, actions);
  KillOverdue(now, actions);
  GiveUpUndying(now, actions);
  FillSlots(now, actions);
  if (connected_ && now >= next_beat_) Beat(now, actions);
}

Slots::Lease* Slots::Find(LeaseId lease) {
  const auto it = leases_.find(lease);
  return it == leases_.end() ? nullptr : &it->second;
}

void Slots::FillSlots(absl::Duration now, Actions& actions) {
  std::erase_if(waiting_, [&](const LeaseId id) {
    const uint32_t index = leases_.at(id).slot;
    const Slot& slot = slots_[index];
    if (slot.lease || slot.lost || now < units_.at(slot.unit).resume_at) return false;
    PlaceIn(index, id, now, actions);
    return true;
  });
}

void Slots::PlaceIn(uint32_t index, LeaseId id, absl::Duration now, Actions& actions) {
  Slot& slot = slots_[index];
  Lease& lease = leases_.at(id);
  const bool use_standby = slot.standby == lease.key;
  if (slot.standby && !use_standby) actions.push_back(EndStandby{index});
  slot.standby.reset();
  if (!lease.forks) {
    if (newest_) follower_[*newest_] = lease.key;
    newest_ = lease.key;
  }
  slot.lease = id;
  lease.slot = index;
  lease.phase = Phase::kRunning;
  lease.silent_at = now + options_.hello_timeout;
  actions.push_back(StartTrainer{index, id, lease.key, use_standby});
}

void Slots::Stop(LeaseId id, Lease& lease, const std::string& reason, absl::Duration now,
                 Actions& actions) {
  if (lease.stopping) return;
  lease.stopping = true;
  lease.silent_at = absl::InfiniteDuration();
  lease.kill_at = std::min(lease.kill_at, now + options_.grace);
  actions.push_back(TerminateTrainer{id, reason});
}

void Slots::Heard(Lease& lease, absl::Duration now) const {
  if (lease.phase != Phase::kRunning || lease.stopping || lease.said_outcome) return;
  lease.spoke = true;
  lease.silent_at = now + options_.silence_timeout;
}

void Slots::TellLate(LeaseId id, Lease& lease, Actions& actions) {
  if (lease.late) return;
  lease.late = true;
  lease.phase = Phase::kFinished;
  lease.kept = lease.sequence;  // Its records are not wanted either.
  actions.push_back(DropFiles{id});
  if (connected_) actions.push_back(SendFinished{id});
}

void Slots::Drop(LeaseId id, const std::string& reason, absl::Duration now, Actions& actions) {
  Lease* lease = Find(id);
  if (lease == nullptr) return;
  if (lease->phase != Phase::kRunning) return Erase(id, actions);
  lease->unwanted = true;
  keeper_.Remove(id);
  Stop(id, *lease, reason, now, actions);
}

void Slots::Erase(LeaseId id, Actions& actions) {
  leases_.erase(id);
  keeper_.Remove(id);
  std::erase(waiting_, id);
  ended_.insert(id);
  if (ended_.size() > kEndedKept) ended_.erase(ended_.begin());
  actions.push_back(Forget{id});
}

void Slots::StopSilent(absl::Duration now, Actions& actions) {
  for (auto& [id, lease] : leases_) {
    if (now < lease.silent_at) continue;
    const std::string reason =
        lease.spoke
            ? "the trainer said nothing for " + Limit(options_.silence_timeout, "--silence-timeout")
            : "the trainer gave no hello within " +
                  Limit(options_.hello_timeout, "--hello-timeout");
    Stop(id, lease, reason, now, actions);
    std::get<TerminateTrainer>(actions.back()).hung = true;
  }
}

void Slots::KillOverdue(absl::Duration now, Actions& actions) {
  for (auto& [id, lease] : leases_) {
    if (now < lease.kill_at) continue;
    lease.kill_at = absl::InfiniteDuration();
    lease.give_up_at = now + options_.kill_timeout;
    actions.push_back(KillTrainer{id});
  }
}

void Slots::GiveUpUndying(absl::Duration now, Actions& actions) {
  std::vector<LeaseId> undying;
  for (const auto& [id, lease] : leases_) {
    if (now >= lease.give_up_at) undying.push_back(id);
  }
  for (const LeaseId id : undying) {
    Lease& lease = leases_.at(id);
    const uint32_t slot = lease.slot;
    slots_[slot].lost = true;
    actions.push_back(GiveUpTrainer{id});
    On(Drain{}, now, actions);
    FreeSlot(id, lease, now, actions);
    // What waits for the slot is not held any more: the coordinator gives it to others.
    for (const LeaseId waiting : std::vector<LeaseId>(waiting_)) {
      if (leases_.at(waiting).slot == slot) Erase(waiting, actions);
    }
  }
}

void Slots::EndStandbys(Actions& actions) {
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].standby) continue;
    slots_[i].standby.reset();
    actions.push_back(EndStandby{i});
  }
  if (std::exchange(serves_forks_, false)) actions.push_back(EndForkServers{});
}

void Slots::LeaveIfDone(absl::Duration now, Actions& actions) {
  if (!draining_) return;
  const bool running = std::any_of(slots_.begin(), slots_.end(),
                                   [](const Slot& slot) { return slot.lease.has_value(); });
  // In a hurry, results that nobody fetches stay in the spool for the next start.
  const bool give_up = !running && now >= hurry_until_;
  if (!leases_.empty() && !give_up) return;
  left_ = true;
  actions.push_back(Leave{});
}

}  // namespace noisefloor::slots
