// GPU hours of a sweep: what its leases have had, and the bound that people set. When it is reached
// nothing more of the sweep begins; what runs finishes, so that a little more is used.
#pragma once

#include <string>

#include "absl/time/time.h"

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Of a slot on that class; 0 for a class of processors.
uint32_t GpusOf(const Inventory& inventory, uint32_t slot, const std::string& hardware);

// A lease is granted, or ends. One that no worker has named since the coordinator began counts
// nothing: while nobody coordinated, its worker may have given up at any time.
void BeginUse(SweepState& sweep, const Lease& lease);
void EndUse(SweepState& sweep, const Lease& lease, absl::Time now);

// Whether it has had as much as it may.
bool IsSpent(const SweepState& sweep, absl::Time now);
// Looks whether it has by now, or no longer has: its turns follow.
void CheckUse(Turn& turn, SweepState& sweep);

// "10.2 of 10 GPU hours are used. `update s1 --gpu-hours=N` changes how many it may use."
std::string SpentText(const SweepState& sweep, absl::Time now);

}  // namespace noisefloor::scheduler
