// Why a member is where it is, in words. Pure.
#pragma once

#include <string>

#include "coordinator/scheduler/state.h"

namespace noisefloor::scheduler {

std::string ExplainMember(const State& state, const MemberId& id, absl::Time now);

}  // namespace noisefloor::scheduler
