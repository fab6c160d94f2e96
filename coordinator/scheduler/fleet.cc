// Pools of workers: decided elsewhere, kept like everything else; and what they are decided on.
#include <algorithm>

#include "coordinator/scheduler/handlers.h"

namespace noisefloor::scheduler {

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
    Need need{pool.hardware, pool.stack, 0};
    for (const auto& [id, line] : queue.lines) {
      const SweepState& sweep = state_->sweeps.at(id);
      if (!MayLease(sweep, pool)) continue;
      uint64_t members = line.size();
      const auto limit = sweep.sharing.limits.find(pool.hardware);
      if (limit != sweep.sharing.limits.end()) {
        const auto running = sweep.running.find(pool.hardware);
        const uint32_t runs = running == sweep.running.end() ? 0 : running->second;
        members = std::min<uint64_t>(members, limit->second - std::min(limit->second, runs));
      }
      need.members += members;
    }
    if (need.members > 0) needs.push_back(std::move(need));
  }
  return needs;
}

}  // namespace noisefloor::scheduler
