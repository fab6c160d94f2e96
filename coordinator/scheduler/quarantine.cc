#include "coordinator/scheduler/quarantine.h"

#include <algorithm>

#include "coordinator/scheduler/placement.h"

namespace noisefloor::scheduler {

namespace {

bool SharesClass(const Worker& a, const Worker& b) {
  return std::ranges::any_of(a.classes, [&](const std::string& name) {
    return std::ranges::find(b.classes, name) != b.classes.end();
  });
}

bool HasSubstitute(const State& state, const Worker& worker, absl::Time now) {
  return std::ranges::any_of(state.workers, [&](const auto& entry) {
    const Worker& other = entry.second;
    return other.id != worker.id && TakesLeases(other, state.options, now) &&
           SharesClass(worker, other);
  });
}

bool Counts(CauseClass cause) {
  return cause == CauseClass::kBadData || cause == CauseClass::kOutOfMemory ||
         cause == CauseClass::kLostDevice || cause == CauseClass::kBug;
}

// See Options::first_rest.
void Rest(Turn& turn, Worker& worker) {
  constexpr uint32_t kMostDoublings = 20;
  const Options& options = turn.state.options;
  if (++worker.lost_in_row < options.quarantine_after) return;
  const uint32_t doublings =
      std::min(worker.lost_in_row - options.quarantine_after, kMostDoublings);
  const absl::Duration length = options.first_rest * (int64_t{1} << doublings);
  worker.rests_until = turn.now + std::min(length, options.quarantine);
}

}  // namespace

bool IsQuarantined(const Worker& worker, absl::Time now) { return worker.quarantined_until > now; }

bool IsResting(const Worker& worker, absl::Time now) { return worker.rests_until > now; }

void CountSuccess(Worker& worker) {
  worker.failed_in_row.clear();
  worker.lost_in_row = 0;
}

void CountFailure(Turn& turn, Worker& worker, const MemberId& member, CauseClass cause) {
  if (cause == CauseClass::kLostDevice) Rest(turn, worker);
  std::vector<MemberId>& failed = worker.failed_in_row;
  if (!Counts(cause) || std::ranges::find(failed, member) != failed.end()) return;
  failed.push_back(member);
  if (failed.size() < turn.state.options.quarantine_after) return;
  if (!HasSubstitute(turn.state, worker, turn.now)) {
    failed.erase(failed.begin());
    return;
  }
  const absl::Duration length = turn.state.options.quarantine;
  worker.quarantined_until = turn.now + length;
  turn.effects.changed.workers.insert(worker.id);
  turn.Happened(
      member.sweep, "worker_quarantined",
      worker.name + " gets no leases for " + std::to_string(absl::ToInt64Seconds(length)) + " s: " +
          std::to_string(failed.size()) + " failures in a row, the last of " + ToText(member));
  failed.clear();
}

void EndPauses(Turn& turn, absl::Time before) {
  const auto ended = [&](absl::Time until) { return until > before && until <= turn.now; };
  for (const auto& [id, worker] : turn.state.workers) {
    if (!ended(worker.quarantined_until) && !ended(worker.rests_until)) continue;
    turn.state.placement_due = true;
    turn.effects.changed.workers.insert(id);
  }
}

}  // namespace noisefloor::scheduler
