// The life of a lease: granted, renewed, dropped.
#pragma once

#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// The member waits, the place offers what it needs and has a free slot. Pins the cell at its first
// lease.
void Grant(Turn& turn, const MemberId& id, const Place& place);

// A cell that nothing was built on takes what its definition says: its next first lease pins it
// anew.
void Unpin(Turn& turn, SweepState& sweep, const sweep::Cell& definition);

// Says again what the worker is to do; harmless when it does it already.
void SendStartAgain(Turn& turn, const Lease& lease, SessionId session);

void Renew(Turn& turn, Lease& lease);

// Some lease has not been renewed in time. They end at a Tick, and at what continues it.
bool IsExpiryDue(const State& state);

// Ends the lease with its slot. kNone: its attempt was accepted; others stay as past leases. What
// becomes of the member is the caller's.
void Drop(Turn& turn, LeaseId lease, CauseClass cause, const std::string& reason);

// Drop, and the member waits again or fails.
void Lose(Turn& turn, LeaseId lease, CauseClass cause, const std::string& reason);

// Tells the worker of the lease, when it is connected, to end its trainer.
void Stop(Turn& turn, const Lease& lease, const std::string& reason);

}  // namespace noisefloor::scheduler
