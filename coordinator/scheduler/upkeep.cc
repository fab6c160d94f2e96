// What becomes of the data themselves: files that make room, a backup that takes their place.
#include "coordinator/scheduler/handlers.h"
#include "coordinator/scheduler/leases.h"

namespace noisefloor::scheduler {

namespace {

// "3 log, 2 weights"
std::string CountByKind(const std::vector<CollectedArtifact>& artifacts) {
  std::map<std::string, size_t> kinds;
  for (const CollectedArtifact& artifact : artifacts) ++kinds[artifact.kind];
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  }
  return text;
}

}  // namespace

void On(Turn& turn, const ArtifactsCollected& event) {
  const SweepState* sweep = FindOrAnswer(turn, event.request, event.sweep);
  if (sweep == nullptr) return;
  turn.Keep(CollectArtifacts{event.artifacts, turn.now});
  turn.Happened(
      event.sweep, "artifacts_collected",
      ToText(event.sweep) + ": files removed to make room: " + CountByKind(event.artifacts),
      event.caller);
  turn.Tell(AnswerCount{event.request, static_cast<uint32_t>(event.artifacts.size())});
}

// All at once: nobody is served yet.
void On(Turn& turn, const DataRestored& event) {
  turn.Happened(std::nullopt, "data_restored", event.reason);
  while (!turn.state.leases.empty()) {
    Lose(turn, turn.state.leases.begin()->first, CauseClass::kLostWorker, event.reason);
  }
}

}  // namespace noisefloor::scheduler
