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

}  // namespace

bool IsQuarantined(const Worker& worker, absl::Time now) { return worker.quarantined_until > now; }

void CountSuccess(Worker& worker) { worker.failed_in_row.clear(); }

void CountFailure(Turn& turn, Worker& worker, const MemberId& member, CauseClass cause) {
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
  turn.Happened(
      member.sweep, "worker_quarantined",
      worker.name + " gets no leases for " + std::to_string(absl::ToInt64Seconds(length)) + " s: " +
          std::to_string(failed.size()) + " failures in a row, the last of " + ToText(member));
  failed.clear();
}

bool QuarantineEnded(const State& state, absl::Time before, absl::Time now) {
  return std::ranges::any_of(state.workers, [&](const auto& entry) {
    const absl::Time until = entry.second.quarantined_until;
    return until > before && until <= now;
  });
}

}  // namespace noisefloor::scheduler
