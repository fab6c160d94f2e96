// Reading data directories, also ones that cannot be written to: an archive, another user's, a
// mounted snapshot.
#pragma once

#include <string>

#include "common/base/status.h"

namespace noisefloor::cli {

// A data directory is one by its store; one that has lost its database is still one, which whoever
// opens it refuses by name. NotFound: `path` is none.
absl::Status CheckIsHome(const std::string& path);

// A new folder in $TMPDIR, else /tmp; the caller removes it.
absl::StatusOr<std::string> MakeTemporaryHome();

// Fills the empty folder `copy` with what a coordinator needs to answer from `home`: a copy of the
// database, which SQLite must be able to recover, and a link to the files. FailedPrecondition when
// a coordinator has `home` open, as one that may write to it can.
absl::Status CopyToRead(const std::string& home, const std::string& copy);

}  // namespace noisefloor::cli
