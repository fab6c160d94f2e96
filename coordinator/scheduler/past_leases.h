// What is kept of leases that ended without an accepted result, and for how long. Of a member
// without a result: those that count against it (Options say how many may), and the last. Of any
// member: those whose end their worker may still tell, at most kMostUnheard of a worker. With the
// last of a worker that is forgotten goes its name. So what is kept does not grow with time.
#pragma once

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Ends that a worker may still tell: when it loses more leases without a word, the oldest of them
// are no longer waited for.
inline constexpr uint32_t kMostUnheard = 1000;

// One more ended so. Its member is there; its worker is there or among the forgotten.
void AddPast(State& state, PastLease past);
// Its worker has said how it ended. It may be forgotten by this.
void SetHeard(State& state, LeaseId lease);
// Forgets of the member's what nothing needs any more: after a change of its state, or of what is
// forgiven.
void ForgetPast(State& state, const MemberId& id);
// Forgets all of a member that is no more.
void ForgetAllPast(State& state, const MemberId& id);
// The worker goes. Its name stays while something that is kept of its leases names it.
void ForgetWorkerOf(State& state, WorkerId id);
// Which of the rules above do not hold; for the invariants.
std::vector<std::string> BrokenPast(const State& state);

}  // namespace noisefloor::scheduler
