// Reading a data directory that cannot be written to: an archive, another user's, a mounted
// snapshot.
#pragma once

#include <string>

#include "common/base/status.h"

namespace noisefloor::cli {

// Fills the empty folder `copy` with what a coordinator needs to answer from `home`: a copy of the
// database, which SQLite must be able to recover, and a link to the files. FailedPrecondition when
// a coordinator has `home` open, as one that may write to it can.
absl::Status CopyToRead(const std::string& home, const std::string& copy);

}  // namespace noisefloor::cli
