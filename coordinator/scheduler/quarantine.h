// A bad device must not eat the sweep, nor keep the others of its worker away: after some failures
// in a row, on different members, a unit of a worker gets no leases for a while. The last unit of a
// class is spared: nothing would run without it. One that is lost again and again rests between
// leases, longer and longer, be it the last or not: else it would burn through the attempts of
// every member within minutes.
#pragma once

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Whether a person took the unit, or a device of it, out of use.
bool IsOutOfUse(const Worker& worker, const std::string& unit);
bool IsQuarantined(const Place& place, absl::Time now);  // By failures, or by a person.
bool IsPaused(const Place& place, absl::Time now);       // In quarantine, or resting.
// Why and for how long; empty: it is not paused.
std::string WhyPaused(const Place& place, absl::Time now);
std::vector<Pause> PausesOf(const Worker& worker, absl::Time now);

void CountSuccess(State& state, WorkerId worker, const std::string& unit);
// It has not failed lately, whatever it did: of one unit of the worker, or "" = of all.
void Forgive(Worker& worker, const std::string& unit);
// Only causes that a machine can have count: not bad_specification, not interrupted.
void CountFailure(Turn& turn, WorkerId worker, const std::string& unit, const MemberId& member,
                  CauseClass cause);

// Quarantines and rests that have ended since `before`: there may be something to lease.
void EndPauses(Turn& turn, absl::Time before);

}  // namespace noisefloor::scheduler
