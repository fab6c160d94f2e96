// One SQLite connection with our settings, and how SQLite's failures become statuses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "SQLiteCpp/Database.h"
#include "SQLiteCpp/Exception.h"

#include "common/base/status.h"
#include "coordinator/store/migrations.h"

namespace noisefloor {

// ResourceExhausted for what passes by itself or by a person's hand (disk full, I/O error, locked
// by another program, out of memory); DataLoss for a damaged file, with the page when its sum tells
// (on the thread that has read it); Internal for the rest.
absl::Status ToStatus(const SQLite::Exception& error, std::string_view context);

// Connections are not locked by SQLite: one thread at a time is the caller's to see to.
//
// Opens HOME/noisefloor.db for the one connection that writes and checkpoints: WAL, synced commits,
// foreign keys, no mmap; makes the file when it is missing and brings it to the schema's version in
// one transaction; a file whose pages have no sums gets them after it (summed_vfs.h). What room
// that needs: README.md. FailedPrecondition for a newer file and for one that is not ours; DataLoss
// for a damaged one, or a damaged log of changes beside it (log_check.h). `verify` looks at a file
// that was brought up before that is kept: when it is not content, the file stays as it was and its
// error is returned. May be empty.
absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForWriting(
    const std::string& path, const Schema& schema,
    const std::function<absl::Status(SQLite::Database&)>& verify = nullptr);

// How many pages got the sum that another program had left out: one that folded the log of a
// coordinator that was killed into the file, or wrote all of it anew. Looks for them when the first
// page has none, or when the last coordinator `was_killed` and there is no log; else 0. Before they
// get their sums SQLite's own check of the whole file must be content: DataLoss, and none is given.
// Reads all of the file, twice when there are any. Nobody else may write meanwhile.
absl::StatusOr<uint64_t> SumWhatOthersWrote(const std::string& path, bool was_killed);

// Of the file as it is; 0 when there is none. For those who must say what opening it will do.
absl::StatusOr<int64_t> SchemaVersion(const std::string& path);

// A connection that can only read and never checkpoints. FailedPrecondition unless the file is of
// exactly this version.
absl::StatusOr<std::unique_ptr<SQLite::Database>> OpenForReading(const std::string& path);

// The database of a data directory.
std::string DatabasePath(const std::string& home);

}  // namespace noisefloor
