// Which coordinator a command is meant for, when it may be another process on another machine.
#pragma once

#include <memory>
#include <optional>

#include "common/access/access_file.h"
#include "common/base/status.h"
#include "common/rpc/channel.h"
#include "common/rpc/find_coordinator.h"
#include "coordinator/cli/command.h"

namespace noisefloor::cli {

// Nothing: the one of the data directory. The first of these that says: --coordinator, --home,
// $NOISEFLOOR_COORDINATOR, $NOISEFLOOR_ACCESS, $NOISEFLOOR_HOME, a data directory that is there,
// the usual access file. An address alone is spoken to with the access file that names it, if there
// is one. InvalidArgument, NotFound: what was named cannot be understood or is not there.
absl::StatusOr<std::optional<FoundCoordinator>> FindCoordinator(const Context& context);

// As a channel wants it. Null for none.
std::unique_ptr<ChannelAccess> ChannelAccessOf(const std::optional<AccessFile>& file);

}  // namespace noisefloor::cli
