// Pools of workers: decided elsewhere, kept like everything else; and what they are decided on.
#include <algorithm>

#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/lifetime.h"

namespace noisefloor::scheduler {

namespace {

// Cells of a line that are looked at to say what a worker must live for.
constexpr size_t kMostLookedAt = 64;

// The shortest of its first members. Of a pool of any class nothing is known.
absl::Duration ShortestOf(const SweepState& sweep, const Line& line, const std::string& hardware) {
  absl::Duration shortest = absl::InfiniteDuration();
  size_t seen = 0;
  for (const auto* keys : {&line.again, &line.cells}) {
    for (auto it = keys->begin(); it != keys->end() && seen < kMostLookedAt; ++it, ++seen) {
      shortest = std::min(shortest, TimeFor(sweep, sweep.cells[it->cell], hardware));
    }
  }
  return shortest;
}

// Members of the line that may be leased: no more than the sweep's limit leaves.
uint64_t MembersOf(const SweepState& sweep, const Line& line, const std::string& hardware) {
  const auto limit = sweep.sharing.limits.find(hardware);
  if (limit == sweep.sharing.limits.end()) return line.size();
  const auto running = sweep.running.find(hardware);
  const uint32_t runs = running == sweep.running.end() ? 0 : running->second;
  return std::min<uint64_t>(line.size(), limit->second - std::min(limit->second, runs));
}

}  // namespace

void On(Turn& turn, const FleetDecided& event) {
  for (const fleet::PoolRecord& pool : event.pools) turn.Keep(KeepPool{pool});
  for (const fleet::LaunchRecord& launch : event.launches) turn.Keep(KeepLaunch{launch});
  for (const uint64_t pool : event.gone) turn.Keep(DropPool{pool, turn.now});
  for (const fleet::Happening& one : event.happenings) {
    turn.Happened(std::nullopt, one.kind, one.text, event.caller);
  }
  turn.Tell(AnswerCount{event.request, static_cast<uint32_t>(event.launches.size())});
}

std::vector<Need> Scheduler::Needs() const {
  std::vector<Need> needs;
  for (const auto& [pool, queue] : state_->waiting) {
    std::map<absl::Duration, uint64_t> by_time;
    for (const auto& [id, line] : queue.lines) {
      const SweepState& sweep = state_->sweeps.at(id);
      if (!MayLease(sweep, pool)) continue;
      by_time[ShortestOf(sweep, line, pool.hardware)] += MembersOf(sweep, line, pool.hardware);
    }
    for (const auto& [time, members] : by_time) {
      if (members > 0) needs.push_back({pool.hardware, pool.stack, members, time});
    }
  }
  return needs;
}

}  // namespace noisefloor::scheduler
