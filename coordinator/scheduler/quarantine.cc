#include "coordinator/scheduler/quarantine.h"

#include <algorithm>

#include "coordinator/scheduler/placement.h"

namespace noisefloor::scheduler {

namespace {

// Whether the unit is the device, or several of which that is one: "a+b".
bool IsPartOf(const std::string& device, const std::string& unit) {
  for (size_t begin = 0; begin <= unit.size();) {
    const size_t end = std::min(unit.find('+', begin), unit.size());
    if (unit.compare(begin, end - begin, device) == 0) return true;
    begin = end + 1;
  }
  return unit == device;
}

const Health* HealthOf(const Place& place) {
  const auto it = place.worker->health.find(place.group->unit);
  return it == place.worker->health.end() ? nullptr : &it->second;
}

bool OffersClass(const Place& place, const std::string& name) {
  return std::ranges::any_of(place.group->offers, [&](uint32_t number) {
    return place.worker->inventory->offers[number].hardware_class == name;
  });
}

// Another unit, of this worker or another, that could take over a class.
bool HasSubstitute(const State& state, const Worker& worker, const std::string& unit,
                   absl::Time now) {
  return AnyPlace(state, now, [&](const Place& other) {
    if (other.worker->id == worker.id && other.group->unit == unit) return false;
    return std::ranges::any_of(worker.groups, [&](const SlotGroup& group) {
      return group.unit == unit && std::ranges::any_of(group.offers, [&](uint32_t number) {
               return OffersClass(other, worker.inventory->offers[number].hardware_class);
             });
    });
  });
}

bool Counts(CauseClass cause) {
  return cause == CauseClass::kBadData || cause == CauseClass::kOutOfMemory ||
         cause == CauseClass::kLostDevice || cause == CauseClass::kBug;
}

// See Options::first_rest.
void Rest(Turn& turn, Health& health) {
  constexpr uint32_t kMostDoublings = 20;
  const Options& options = turn.state.options;
  if (++health.lost_in_row < options.quarantine_after) return;
  const uint32_t doublings =
      std::min(health.lost_in_row - options.quarantine_after, kMostDoublings);
  const absl::Duration length = options.first_rest * (int64_t{1} << doublings);
  health.rests_until = turn.now + std::min(length, options.quarantine);
}

std::string Seconds(absl::Duration duration) {
  return std::to_string(absl::ToInt64Seconds(duration)) + " s";
}

std::string WhyPaused(const Health& health, absl::Time now) {
  if (health.quarantined_until > now) {
    return "in quarantine for " + Seconds(health.quarantined_until - now);
  }
  if (health.rests_until > now) {
    return "resting for " + Seconds(health.rests_until - now) + ": it was lost " +
           std::to_string(health.lost_in_row) + " times in a row";
  }
  return "";
}

}  // namespace

bool IsOutOfUse(const Worker& worker, const std::string& unit) {
  return std::ranges::any_of(worker.quarantined, [&](const std::string& device) {
    return device.empty() || IsPartOf(device, unit);
  });
}

bool IsQuarantined(const Place& place, absl::Time now) {
  if (IsOutOfUse(*place.worker, place.group->unit)) return true;
  const Health* health = HealthOf(place);
  return health != nullptr && health->quarantined_until > now;
}

bool IsPaused(const Place& place, absl::Time now) {
  if (IsQuarantined(place, now)) return true;
  const Health* health = HealthOf(place);
  return health != nullptr && health->rests_until > now;
}

std::string WhyPaused(const Place& place, absl::Time now) {
  if (IsOutOfUse(*place.worker, place.group->unit)) {
    return "in quarantine by a person; `release " + place.worker->name + "` ends it";
  }
  const Health* health = HealthOf(place);
  return health == nullptr ? "" : WhyPaused(*health, now);
}

std::vector<Pause> PausesOf(const Worker& worker, absl::Time now) {
  std::vector<Pause> pauses;
  for (const std::string& device : worker.quarantined) {
    pauses.push_back({device.empty() ? "all of it" : device, "in quarantine by a person"});
  }
  for (const auto& [unit, health] : worker.health) {
    const bool quarantined = health.quarantined_until > now;
    const absl::Time until = quarantined ? health.quarantined_until : health.rests_until;
    if (until <= now) continue;
    // It is read later: no length that is true only now.
    pauses.push_back(
        {unit, (quarantined ? "in quarantine until " : "resting until ") +
                   absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", until, absl::UTCTimeZone())});
  }
  return pauses;
}

void CountSuccess(State& state, WorkerId worker, const std::string& unit) {
  std::map<std::string, Health>& health = state.workers.at(worker).health;
  const auto it = health.find(unit);
  if (it == health.end()) return;
  it->second.failed_in_row.clear();
  it->second.lost_in_row = 0;
}

void Forgive(Worker& worker, const std::string& unit) {
  std::erase_if(worker.health, [&](const auto& one) {
    return unit.empty() || one.first == unit || IsPartOf(unit, one.first);
  });
}

void CountFailure(Turn& turn, WorkerId worker_id, const std::string& unit, const MemberId& member,
                  CauseClass cause) {
  if (!Counts(cause)) return;
  Worker& worker = turn.state.workers.at(worker_id);
  Health& health = worker.health[unit];
  turn.effects.changed.workers.insert(worker_id);
  if (cause == CauseClass::kLostDevice) Rest(turn, health);
  std::vector<MemberId>& failed = health.failed_in_row;
  if (std::ranges::find(failed, member) != failed.end()) return;
  failed.push_back(member);
  if (failed.size() < turn.state.options.quarantine_after) return;
  if (!HasSubstitute(turn.state, worker, unit, turn.now)) {
    failed.erase(failed.begin());
    return;
  }
  const absl::Duration length = turn.state.options.quarantine;
  health.quarantined_until = turn.now + length;
  turn.Happened(member.sweep, "worker_quarantined",
                NameOf(worker, unit) + " gets no leases for " + Seconds(length) + ": " +
                    std::to_string(failed.size()) + " failures in a row, the last of " +
                    ToText(member));
  failed.clear();
}

void EndPauses(Turn& turn, absl::Time before) {
  const auto ended = [&](absl::Time until) { return until > before && until <= turn.now; };
  for (const auto& [id, worker] : turn.state.workers) {
    for (const auto& [unit, health] : worker.health) {
      if (!ended(health.quarantined_until) && !ended(health.rests_until)) continue;
      turn.state.placement_due = true;
      turn.effects.changed.workers.insert(id);
    }
  }
}

}  // namespace noisefloor::scheduler
