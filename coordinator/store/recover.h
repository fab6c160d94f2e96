// Reads back what the scheduler must know. Internal to this folder.
#pragma once

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/scheduler/effect.h"
#include "coordinator/scheduler/recovered.h"

namespace noisefloor {

// SQLite's exceptions pass through. DataLoss for rows that contradict each other or that nobody
// wrote; the message names the row and the value.
absl::StatusOr<scheduler::RecoveredState> ReadRecoveredState(SQLite::Database& database);

}  // namespace noisefloor
