#include "tests/simulation/bent_sharing.h"

namespace noisefloor::test {

using namespace scheduler;  // NOLINT: events and writes are named so often here.

namespace {

// Its own inverse.
uint32_t MixedUp(uint32_t weight) { return weight == 2 || weight == 4 ? 6 - weight : weight; }

}  // namespace

Event BentSharing::Bend(Event event) {
  if (auto* submitted = std::get_if<SweepSubmitted>(&event)) {
    owners_by_request_[submitted->request_id] = submitted->caller;
    limits_by_request_[submitted->request_id] = submitted->limits;
    if (mutant_ == Mutant::kIgnoresLimits) submitted->limits.clear();
    if (mutant_ == Mutant::kForgetsOwners) submitted->caller.clear();
    if (mutant_ == Mutant::kMixesUpWeights) submitted->weight = MixedUp(submitted->weight);
    if (mutant_ == Mutant::kInvertsPriorities) submitted->priority *= -1;
    if (mutant_ == Mutant::kServesTheFirst) {
      submitted->priority = -static_cast<int32_t>(owners_by_request_.size());
    }
  }
  if (auto* updated = std::get_if<SweepUpdated>(&event)) {
    if (mutant_ == Mutant::kIgnoresPauses) updated->paused.reset();
    if (mutant_ == Mutant::kIgnoresLimits) updated->set_limits.clear();
    if (mutant_ == Mutant::kMixesUpWeights && updated->weight) {
      updated->weight = MixedUp(*updated->weight);
    }
    if (mutant_ == Mutant::kInvertsPriorities && updated->priority) *updated->priority *= -1;
    if (mutant_ == Mutant::kServesTheFirst) updated->priority.reset();
  }
  if (auto* use = std::get_if<WorkerUpdated>(&event); use && mutant_ == Mutant::kForgetsDrains) {
    use->drained.reset();
    use->quarantined.reset();
  }
  if (auto* share = std::get_if<ShareUpdated>(&event);
      share && mutant_ == Mutant::kMixesUpOwnersWeights) {
    share->weight = MixedUp(share->weight);
  }
  return event;
}

Sharing BentSharing::Bent(SweepId sweep, Sharing sharing) const {
  if (mutant_ == Mutant::kIgnoresPauses) sharing.paused = false;
  if (mutant_ == Mutant::kIgnoresLimits) sharing.limits.clear();
  if (mutant_ == Mutant::kForgetsOwners) sharing.owner.clear();
  if (mutant_ == Mutant::kMixesUpWeights) sharing.weight = MixedUp(sharing.weight);
  if (mutant_ == Mutant::kInvertsPriorities) sharing.priority *= -1;
  if (mutant_ == Mutant::kServesTheFirst) sharing.priority = -static_cast<int32_t>(sweep.value);
  return sharing;
}

RecoveredState BentSharing::Bend(RecoveredState recovered) const {
  for (RecoveredSweep& sweep : recovered.sweeps) sweep.sharing = Bent(sweep.id, sweep.sharing);
  if (mutant_ == Mutant::kMixesUpOwnersWeights) {
    for (auto& [owner, weight] : recovered.weights) weight = MixedUp(weight);
  }
  if (mutant_ != Mutant::kForgetsDrains) return recovered;
  for (RecoveredWorker& worker : recovered.workers) {
    worker.drained = false;
    worker.quarantined.clear();
  }
  return recovered;
}

void BentSharing::Straighten(SweepId sweep, Sharing& sharing) const {
  if (mutant_ == Mutant::kForgetsOwners) sharing.owner = owners_.at(sweep);
  if (mutant_ == Mutant::kIgnoresLimits) sharing.limits = limits_.at(sweep);
  if (mutant_ == Mutant::kMixesUpWeights) sharing.weight = MixedUp(sharing.weight);
  if (mutant_ == Mutant::kInvertsPriorities) sharing.priority *= -1;
  if (mutant_ == Mutant::kServesTheFirst) sharing.priority = 0;
  const auto paused = paused_.find(sweep);
  if (mutant_ == Mutant::kIgnoresPauses && paused != paused_.end()) sharing.paused = paused->second;
}

std::vector<Write> BentSharing::Straighten(std::vector<Write> writes, const Event& event) {
  if (const auto* updated = std::get_if<SweepUpdated>(&event); updated && updated->paused) {
    paused_[updated->sweep] = *updated->paused;
  }
  for (Write& write : writes) {
    if (auto* kept = std::get_if<KeepSweep>(&write)) {
      limits_[kept->sweep] = limits_by_request_.at(kept->request_id);
      owners_[kept->sweep] = owners_by_request_.at(kept->request_id);
      Straighten(kept->sweep, kept->sharing);
    } else if (auto* sharing = std::get_if<KeepSharing>(&write)) {
      Straighten(sharing->sweep, sharing->sharing);
    } else if (auto* share = std::get_if<KeepShare>(&write)) {
      if (mutant_ == Mutant::kMixesUpOwnersWeights) share->weight = MixedUp(share->weight);
    } else if (auto* use = std::get_if<KeepWorkerUse>(&write)) {
      const auto* said = std::get_if<WorkerUpdated>(&event);
      if (mutant_ != Mutant::kForgetsDrains || said == nullptr) continue;
      use->drained = said->drained.value_or(use->drained);
      if (said->quarantined.value_or(false)) use->quarantined.insert(said->unit);
    }
  }
  return writes;
}

}  // namespace noisefloor::test
