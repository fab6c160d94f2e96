#include "coordinator/scheduler/lifetime.h"

#include <algorithm>
#include <utility>

#include "coordinator/scheduler/placement.h"

namespace noisefloor::scheduler {

namespace {

constexpr double kSpare = 1.25;

std::string InSeconds(absl::Duration length) {
  return std::to_string(absl::ToInt64Seconds(absl::Ceil(length, absl::Seconds(1)))) + " s";
}

}  // namespace

absl::Duration TimeFor(const SweepState& sweep, const CellState& cell,
                       const std::string& hardware) {
  const auto resumes = sweep.resumes.find(cell.cell.stack);
  if (resumes != sweep.resumes.end() && resumes->second) return absl::ZeroDuration();
  if (cell.longest > absl::ZeroDuration()) return kSpare * cell.longest;
  const auto times = sweep.times.find(hardware);
  if (times == sweep.times.end() || times->second.count == 0) return absl::ZeroDuration();
  return kSpare * absl::Seconds(times->second.Mean());
}

std::string EndsTooSoon(const State& state, const Place& place, const MemberId& id,
                        absl::Time now) {
  if (place.worker->ends == absl::InfiniteFuture()) return "";
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const CellState& cell = sweep.cells[id.cell];
  const Inventory::Offer* offer = OfferFor(place, PoolOf(cell));
  if (offer == nullptr) return "";
  const absl::Duration needed = TimeFor(sweep, cell, offer->hardware_class);
  const absl::Duration left = std::max(place.worker->ends - now, absl::ZeroDuration());
  if (needed <= left) return "";
  return "its time limit ends it in " + InSeconds(left) + ", and the member would take up to " +
         InSeconds(needed);
}

void NoteResumes(State& state, const Lease& lease, bool resumes) {
  SweepState& sweep = state.sweeps.at(lease.member.sweep);
  const bool before =
      std::exchange(sweep.resumes[sweep.cells[lease.member.cell].cell.stack], resumes);
  if (resumes && !before) state.placement_due = true;
}

void NoteLength(CellState& cell, absl::Duration length) {
  if (length < absl::InfiniteDuration()) cell.longest = std::max(cell.longest, length);
}

// Of one from before nobody knows for how long it was only waited for.
void NoteCutOff(State& state, const Lease& lease, absl::Time now) {
  if (!lease.confirmed || lease.restored) return;
  const absl::Time heard = std::min(now, state.workers.at(lease.worker).heard);
  NoteLength(CellOf(state, lease.member), heard - lease.granted);
}

}  // namespace noisefloor::scheduler
