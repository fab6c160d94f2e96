// One SQLite connection with our settings, and how SQLite's failures become statuses.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Exception.h"

#include "common/base/status.h"

namespace noisefloor {

// ResourceExhausted for what passes by itself or by a person's hand (disk full, I/O error, locked
// by another program, out of memory); DataLoss for a damaged file; Internal for the rest.
absl::Status ToStatus(const SQLite::Exception& error, std::string_view context);

// Opens HOME/noisefloor.db for the one connection that writes and checkpoints: WAL, synced commits,
// foreign keys, no mmap; makes the file when it is missing and brings it up to `migrations`.
// FailedPrecondition for a newer file and for one that is not ours; DataLoss for a damaged one.
absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForWriting(
    const std::string& path, std::span<const std::string_view> migrations);

// A connection that can only read and never checkpoints. FailedPrecondition unless the file is of
// exactly this version.
absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForReading(const std::string& path);

// The database of a data directory.
std::string DatabasePath(const std::string& home);

}  // namespace noisefloor
