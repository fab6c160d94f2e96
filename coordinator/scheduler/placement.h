// Which waiting member goes to which slot.
#pragma once

#include <functional>
#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

// The preferred of what the place offers that is what the pool asks for; null: it offers none. Not
// whether it has a free slot. A pool of any class asks for the first class that the worker has with
// its stack, whichever slot is free: what waits for a GPU's slot is not pinned to a processor.
const Inventory::Offer* OfferFor(const Place& place, const Pool& pool);
// Whether any slot of the worker offers what the pool asks for.
bool Offers(const Worker& worker, const Pool& pool);
// Connected, heard of lately, and neither draining nor drained.
bool TakesLeases(const Worker& worker, const Options& options, absl::Time now);
bool IsSilent(const Worker& worker, const Options& options, absl::Time now);
// Whether some place that takes leases and is not in quarantine is `is_wanted`; busy ones too.
bool AnyPlace(const State& state, absl::Time now,
              const std::function<bool(const Place&)>& is_wanted);
// Likewise, of those that offer what the pool asks for.
bool AnyPlace(const State& state, const Pool& pool, absl::Time now,
              const std::function<bool(const Place&)>& is_wanted);
// Why the member must not be trained there although all it needs is offered; empty: it may.
std::string Obstacle(const State& state, const Place& place, const MemberId& id, absl::Time now);
// A place as in AnyPlace that may train the member and has not failed it.
bool HasUntriedPlace(const State& state, const MemberId& id, absl::Time now);

// Leases as many waiting members as free slots allow, in their order. Control cells are spread over
// units where another member can go first. Does nothing while the store fails. What is left for the
// next Step stays due.
void PlaceMembers(Turn& turn);

}  // namespace noisefloor::scheduler
