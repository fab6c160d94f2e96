// Whether a member gets another attempt. Pure.
#pragma once

#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Attempts of a member since it was last forgiven, by whose fault they ended.
struct Spent {
  uint32_t own = 0;   // out_of_memory, bug, bad_data: may be the member's own.
  uint32_t lost = 0;  // lost_worker, interrupted, lost_device: not its fault.
};
Spent CountAttempts(const State& state, const MemberId& id);

struct Retry {
  bool again = false;
  std::string reason;  // "after 2 of 2 attempts", ...
};
// `spent` counts the attempt that has just ended with `cause` too.
Retry DecideRetry(CauseClass cause, const Spent& spent, const Options& options);

// Where this member failed it should not go again while it can go elsewhere: to the same device of
// the worker, or, when its data were at fault, to the worker.
bool Avoids(const State& state, const MemberId& id, const Place& place);
// Whether some device of the worker failed it.
bool HasFailed(const State& state, const MemberId& id, WorkerId worker);

// Puts the member, whose lease has just ended with `cause`, back among the waiting or ends it.
void RetryOrFail(Turn& turn, const MemberId& id, CauseClass cause, const std::string& message);

}  // namespace noisefloor::scheduler
