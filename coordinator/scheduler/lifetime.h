// Members are not begun on workers that a cluster will end before they could: its time limit.
//
// How long a member takes is known of others of its cell (of the sweep on that class, where none of
// the cell has been on a worker since the start), or of an attempt that was cut off: at least so
// long. What is not known is tried. What goes on elsewhere from a checkpoint is begun anywhere.
#pragma once

#include <string>

#include "absl/time/time.h"

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// What a worker must live for to end a member of the cell, with a quarter to spare; 0: it is not
// known, or does not matter. `hardware`: where it would be; the cell's own, or one of any.
absl::Duration TimeFor(const SweepState& sweep, const CellState& cell, const std::string& hardware);
// Why the worker of the place is gone before the member has ended, in words; empty: it is not.
std::string EndsTooSoon(const State& state, const Place& place, const MemberId& id, absl::Time now);

// An attempt has said whether it goes on elsewhere.
void NoteResumes(State& state, const Lease& lease, bool resumes);
// A member of the cell has trained for so long; what is no time counts nothing.
void NoteLength(CellState& cell, absl::Duration length);
// The lease, which is live, is cut off: its member takes longer than its worker was heard of.
void NoteCutOff(State& state, const Lease& lease, absl::Time now);

}  // namespace noisefloor::scheduler
