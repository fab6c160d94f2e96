// A bad worker must not eat the sweep: after some failures in a row, on different members, it gets
// no leases for a while. The last worker of a class is spared: nothing would run without it. One
// that loses its device again and again rests between leases, longer and longer, be it the last or
// not: else it would burn through the attempts of every member within minutes.
#pragma once

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

bool IsQuarantined(const Worker& worker, absl::Time now);
bool IsResting(const Worker& worker, absl::Time now);

void CountSuccess(Worker& worker);
// Only causes that a machine can have count: not bad_specification, not interrupted.
void CountFailure(Turn& turn, Worker& worker, const MemberId& member, CauseClass cause);

// Quarantines and rests that have ended since `before`: there may be something to lease.
void EndPauses(Turn& turn, absl::Time before);

}  // namespace noisefloor::scheduler
