#include "coordinator/scheduler/shares.h"

#include "common/base/printable.h"
#include "coordinator/scheduler/handlers.h"

namespace noisefloor::scheduler {

uint32_t NumberOfOwner(State& state, const std::string& name) {
  const auto number = static_cast<uint32_t>(state.owners.size());
  const auto [known, is_new] = state.owners_by_name.try_emplace(name, number);
  if (is_new) state.owners.push_back({name, {}});
  return known->second;
}

void SetOwnerWeight(State& state, const std::string& name, uint32_t weight) {
  const uint32_t owner = NumberOfOwner(state, name);
  Standing& standing = state.owners[owner].standing;
  const Standing before = standing;
  standing.weight = weight;
  for (auto& [pool, queue] : state.waiting) queue.turns.MoveOwner(owner, before, standing);
}

void On(Turn& turn, const ShareUpdated& event) {
  const uint32_t owner = NumberOfOwner(turn.state, event.owner);
  const uint32_t before = turn.state.owners[owner].standing.weight;
  if (before != event.weight) {
    SetOwnerWeight(turn.state, event.owner, event.weight);
    turn.state.placement_due = true;
    turn.effects.changed.owners.insert(event.owner);
    turn.Keep(KeepShare{event.owner, event.weight});
    turn.Happened(std::nullopt, "share_updated",
                  PrintableLine(event.owner) + " has weight " + std::to_string(before) + " -> " +
                      std::to_string(event.weight),
                  event.caller);
  }
  turn.Tell(AnswerCount{event.request, turn.state.owners[owner].standing.running});
}

}  // namespace noisefloor::scheduler
