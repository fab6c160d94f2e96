// The rows of sweeps that were deleted, taken away in pieces. Internal to this folder.
#pragma once

#include <cstdint>

#include "SQLiteCpp/Database.h"

namespace noisefloor {

// Takes away at most about `most` rows, in the caller's transaction; false: none is left. What
// stays for ever is the row of the sweep itself, so that its number is not used again, and the
// event of its end. SQLite's exceptions pass through.
bool RemoveRows(SQLite::Database& database, uint32_t most);

}  // namespace noisefloor
