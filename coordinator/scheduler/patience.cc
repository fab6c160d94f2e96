#include "coordinator/scheduler/patience.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "coordinator/scheduler/placement.h"

namespace noisefloor::scheduler {

namespace {

// Mean seconds of the sweep's members on the class; nothing: none has ended there.
std::optional<double> SecondsOn(const SweepState& sweep, const std::string& hardware) {
  const auto known = sweep.times.find(hardware);
  if (known == sweep.times.end() || known->second.count == 0) return std::nullopt;
  return known->second.Mean();
}

std::optional<double> SecondsAt(const SweepState& sweep, const CellState& cell,
                                const Place& place) {
  const Inventory::Offer* offer = OfferFor(place, PoolOf(cell));
  return offer == nullptr ? std::nullopt : SecondsOn(sweep, offer->hardware_class);
}

// Of the sweep.
size_t WaitingCells(const State& state, SweepId sweep) {
  return std::ranges::count_if(state.waits,
                               [&](const auto& entry) { return entry.first.first == sweep; });
}

bool IsOver(const State& state, const Wait& wait, absl::Time now) {
  return now >= wait.until || !state.offered_classes.contains(wait.hardware);
}

std::string InSeconds(double seconds) {
  return std::to_string(std::llround(std::ceil(std::max(0.0, seconds)))) + " s";
}

}  // namespace

bool IsPatient(const State& state, const MemberId& id, const Place& place, absl::Time now) {
  const auto wait = state.waits.find({id.sweep, id.cell});
  if (wait == state.waits.end() || IsOver(state, wait->second, now)) return false;
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const std::optional<double> here = SecondsAt(sweep, sweep.cells[id.cell], place);
  return here && *here > wait->second.seconds_there;
}

std::optional<Wait> WorthWaitingFor(const State& state, const MemberId& id, const Place& place,
                                    absl::Time now) {
  const SweepState& sweep = state.sweeps.at(id.sweep);
  const CellState& cell = sweep.cells[id.cell];
  const bool may = cell.cell.hardware.empty() && !cell.has_waited &&
                   state.waits.size() < kMostWaiting && !sweep.times.empty();
  const std::optional<double> here = may ? SecondsAt(sweep, cell, place) : std::nullopt;
  if (!here) return std::nullopt;
  const auto turns = static_cast<double>(WaitingCells(state, id.sweep) + 1);
  std::optional<Wait> best;
  double soonest = *here;
  for (const auto& [hardware, running] : sweep.running) {
    ++state.looked_at;
    const std::optional<double> there = SecondsOn(sweep, hardware);
    if (!there || !state.offered_classes.contains(hardware)) continue;
    const double expected = turns * *there / running;
    if (expected + *there >= soonest) continue;
    soonest = expected + *there;
    const double longest = std::min(2 * expected, *here - *there);
    best = {hardware, *there, *here, now + absl::Seconds(longest)};
  }
  return best;
}

void BeginWait(State& state, const MemberId& id, Wait wait) {
  CellOf(state, id).has_waited = true;
  state.waits[{id.sweep, id.cell}] = std::move(wait);
}

void EndWait(State& state, SweepId sweep, uint32_t cell) { state.waits.erase({sweep, cell}); }

void EndWaits(State& state, absl::Time now) {
  const size_t ended =
      std::erase_if(state.waits, [&](const auto& one) { return IsOver(state, one.second, now); });
  if (ended > 0) state.placement_due = true;
}

std::string PatienceText(const State& state, const MemberId& id, absl::Time now) {
  const auto found = state.waits.find({id.sweep, id.cell});
  if (found == state.waits.end() || IsOver(state, found->second, now)) return "";
  const Wait& wait = found->second;
  return "its cell takes any hardware class, and leaves a slot that is free for one of " +
         wait.hardware + ", where members of " + ToText(id.sweep) + " train for " +
         InSeconds(wait.seconds_there) + " instead of " + InSeconds(wait.seconds_here) +
         "; after " + InSeconds(absl::ToDoubleSeconds(wait.until - now)) + " it takes any.";
}

}  // namespace noisefloor::scheduler
