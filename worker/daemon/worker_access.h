// What proves this worker to its coordinator, from its access file.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/rpc/channel.h"

namespace noisefloor {

// Null for an empty path: plain text and no token. The token is read again for each call, so that
// one that was put in its place is used without a restart; while the file cannot be read, the last
// one is. Errors are those of ReadAccessFile. Its token is for any thread.
absl::StatusOr<std::unique_ptr<ChannelAccess>> ReadWorkerAccess(const std::string& path);

}  // namespace noisefloor
