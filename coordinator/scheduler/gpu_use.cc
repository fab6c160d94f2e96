#include "coordinator/scheduler/gpu_use.h"

#include <algorithm>

#include "fmt/format.h"

#include "common/trainer_protocol/hardware_class.h"

namespace noisefloor::scheduler {

uint32_t GpusOf(const Inventory& inventory, uint32_t slot, const std::string& hardware) {
  if (IsCpuClass(hardware)) return 0;
  return static_cast<uint32_t>(inventory.slots.at(slot).devices.size());
}

void BeginUse(SweepState& sweep, const Lease& lease) {
  GpuUse& use = sweep.counts.gpus;
  use.live += lease.gpus;
  use.begun += lease.gpus * (lease.granted - absl::UnixEpoch());
}

void EndUse(SweepState& sweep, const Lease& lease, absl::Time now) {
  GpuUse& use = sweep.counts.gpus;
  use.live -= lease.gpus;
  use.begun -= lease.gpus * (lease.granted - absl::UnixEpoch());
  if (!lease.confirmed) return;
  // A clock may have been put back meanwhile.
  use.ended += lease.gpus * std::max(AsKept(now) - lease.granted, absl::ZeroDuration());
}

bool IsSpent(const SweepState& sweep, absl::Time now) {
  if (sweep.sharing.gpu_hours == 0) return false;
  return absl::ToDoubleHours(sweep.counts.gpus.At(now)) >= sweep.sharing.gpu_hours;
}

void CheckUse(Turn& turn, SweepState& sweep) {
  const bool spent = IsSpent(sweep, turn.now);
  if (spent == sweep.spent) return;
  SetSharing(turn.state, sweep, sweep.sharing, spent);
  turn.state.placement_due = true;
  turn.effects.changed.sweeps.insert(sweep.id);
  if (spent && sweep.counts.In(MemberState::kWaiting) > 0) {
    turn.Happened(sweep.id, "gpu_hours_used",
                  ToText(sweep.id) + " begins nothing more: " + SpentText(sweep, turn.now));
  }
}

std::string SpentText(const SweepState& sweep, absl::Time now) {
  return fmt::format(
      "{:.1f} of {:g} GPU hours are used. `update {} --gpu-hours=N` changes how "
      "many it may use.",
      absl::ToDoubleHours(sweep.counts.gpus.At(now)), sweep.sharing.gpu_hours, ToText(sweep.id));
}

}  // namespace noisefloor::scheduler
