// Damage in SQLite's log of changes that SQLite would pass over. Internal to this folder.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

// At the first frame of the log whose checksum does not hold SQLite takes the log to end: right
// after a loss of power, which leaves a transaction half written, and a silent loss of what was
// acknowledged after damage. Ours are synced one by one, so none is ever begun before the one
// before it is whole on disk: the end of a transaction, and the beginning of the one that was put
// right behind it, after a frame that is not whole, are damage. (What a failed sync leaves behind
// was never continued.)
//
// For one byte of its header SQLite passes over the whole log. Power does that, too, to a log that
// is begun anew; then the database has all that the frames behind it hold, and was synced before.
// Where it has not, the header is damaged.
//
// DataLoss then, which names the file and the frame. OK for a log that is whole, ends in the middle
// of its last transaction, or is not there; what is damaged in its last transaction looks the same.
// Reads all of it (SQLite keeps it at some 16 MiB). Nobody else may have the database open.
absl::Status CheckLog(const std::string& database_path, FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
