// Reads back what the scheduler must know. Internal to this folder.
#pragma once

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/scheduler/effect.h"

namespace noisefloor {

// SQLite's exceptions pass through. Internal for a row that nobody wrote.
absl::StatusOr<scheduler::RecoveredState> ReadRecoveredState(SQLite::Database& database);

}  // namespace noisefloor
