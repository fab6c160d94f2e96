// Follows a member until it has ended.
#pragma once

#include <string>

#include "common/base/status.h"
#include "coordinator/cli/connection.h"
#include "coordinator/cli/stop_signal.h"

namespace noisefloor::cli {

// Prints what the member measures, a line for each step, and what happens to it; as JSON an object
// a line. Goes on over every loss of the connection, and says nothing twice. The state seen last:
// of the end, or of the moment of stopping.
absl::StatusOr<v1::MemberState> FollowMember(Context& context, Connection& connection,
                                             const std::string& member, const StopSignal& stop);

}  // namespace noisefloor::cli
