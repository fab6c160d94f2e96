// Processes below this worker whose own parent has gone: what a trainer started and left. They
// become children of the worker, whatever session, group or environment they gave themselves, and
// end when an attempt does.
//
// A worker that is killed with SIGKILL cannot do that. Its trainers die with it; what they had
// started does not, and is ended by the next worker of the same state directory, as far as it
// carries our mark (leftovers.h).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

// Names the trainer process that a process comes from, in its environment.
inline constexpr char kTrainerVariable[] = "NOISEFLOOR_TRAINER_PROCESS";

// From now on orphans below this process become its children.
absl::Status AdoptOrphans();

// Ends with SIGKILL and reaps every child of this process but `ours` and those that name one of
// `living` as the trainer they come from; then what they leave behind, until nothing is left.
// Returns their numbers. Call from the thread that starts processes.
std::vector<int> EndOrphans(const std::set<int>& ours, const std::set<std::string>& living);

}  // namespace noisefloor
