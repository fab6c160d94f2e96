// Which waiting member goes to which worker.
#pragma once

#include <string>
#include <vector>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// Whether the worker offers what the pool asks for; not whether it has a slot.
bool Offers(const Worker& worker, const Pool& pool);
// Connected, heard of lately, and neither draining nor quarantined.
bool TakesLeases(const Worker& worker, const Options& options, absl::Time now);
bool IsSilent(const Worker& worker, const Options& options, absl::Time now);
// Why the worker must not train the member although it offers everything; empty: it may.
std::string Obstacle(const State& state, const Worker& worker, const MemberId& id, absl::Time now);
// A worker that takes leases, may train the member and has not failed it.
bool HasUntriedWorker(const State& state, const MemberId& id, absl::Time now);

struct Choice {
  MemberId member;
  WorkerId worker;
};

// Leases as many waiting members as free slots allow, in their order. Control cells are spread over
// units where another member can go first. Does nothing while the store fails. What is left for the
// next Step stays due.
void Place(Turn& turn);

}  // namespace noisefloor::scheduler
