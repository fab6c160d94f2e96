// Making a kept sweep larger. What is there stays as it is; what is new is untouched and waits.
#pragma once

#include "coordinator/scheduler/selection.h"
#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Untouched members that do not wait, of cells whose new members will, get rows of their own: the
// rule of the cell will no longer be theirs. Goes on where it was; true at its end. A restart in
// between loses nothing: each is in the state in which it was.
bool GiveRows(Turn& turn, const SweepState& sweep, Change& change, Budget& budget);

// The last piece: the sweep is the larger one, all in one step. Answers who asked.
void Grow(Turn& turn, SweepState& sweep, const Change& change);

}  // namespace noisefloor::scheduler
