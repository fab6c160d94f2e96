// Why a member is where it is, where a sweep stands and what a worker does, in words. Pure.
#pragma once

#include <optional>
#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

std::string ExplainMember(const State& state, const MemberId& id, absl::Time now);
// A sentence or two in a line for each thing that it waits for. Nothing: there is no such sweep.
std::optional<std::string> ExplainSweep(const State& state, SweepId id, absl::Time now);
// A line of its own for each device. Nothing: there is no worker of that name.
std::optional<std::string> ExplainWorker(const State& state, const std::string& name,
                                         absl::Time now);

// What these have in common: why a member that waits, of a sweep that is not paused, has no slot;
// `turn` says when it is its turn, "" = leave that out.
std::string WhyItWaits(const State& state, const MemberId& id, const std::string& turn,
                       absl::Time now);
// That as many of its members run on the class as may; it must be so.
std::string LimitText(const SweepState& sweep, const std::string& hardware);
// Who else waits for what such a slot may be for, of the sweeps that may have leases; "" =
// nobody. Something of the
// sweep waits for the pool.
std::string Others(const State& state, const Pool& pool, const SweepState& sweep);
// "hardware class cpu-amd-avx2 and stack torch-2.11-cpu"; "" = anything.
std::string Wanted(const Pool& pool);

}  // namespace noisefloor::scheduler
