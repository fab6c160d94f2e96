// What a sweep would do, before it is submitted. SQLite's exceptions pass through.
#pragma once

#include <span>

#include "SQLiteCpp/Database.h"

#include "coordinator/query/query.h"

namespace noisefloor::query {

// The time comes from ended members of the same model, data set and class; where there are none
// it is not guessed.
Plan MakePlan(SQLite::Database& database, const sweep::Sweep& sweep,
              std::span<const FleetWorker> fleet);

}  // namespace noisefloor::query
