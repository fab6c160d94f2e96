// What takes any hardware class, and whether it waits for a faster one that is busy rather than
// take a slower one that is free. It does, once for each cell, where it is to end sooner so: the
// next of the faster class is expected after the mean time there of its sweep's members divided by
// how many of them run there, times one more than cells of the sweep wait already; that and the
// mean time there are less than the mean time here. It waits for at most twice what was expected,
// and never longer than what it would gain; kMostWaiting cells do so at once. While it waits others
// take what it leaves.
#pragma once

#include <optional>
#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Cells of all sweeps that wait so at once.
inline constexpr size_t kMostWaiting = 16;

// The member's cell waits for a faster class than the place, which may have it, would be.
bool IsPatient(const State& state, const MemberId& id, const Place& place, absl::Time now);
// For what its cell, which does not wait yet, should leave the place; nothing: it takes it.
std::optional<Wait> WorthWaitingFor(const State& state, const MemberId& id, const Place& place,
                                    absl::Time now);
void BeginWait(State& state, const MemberId& id, Wait wait);
// It has a place, whether or not it waited.
void EndWait(State& state, SweepId sweep, uint32_t cell);
// Those that have waited long enough, or wait for what nobody offers any more, are placed now.
void EndWaits(State& state, absl::Time now);
// "its cell takes any hardware class, and ..."; empty: the member's cell does not wait so.
std::string PatienceText(const State& state, const MemberId& id, absl::Time now);

}  // namespace noisefloor::scheduler
