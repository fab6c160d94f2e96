// What a sweep would do, before it is submitted. SQLite's exceptions pass through.
#pragma once

#include <span>
#include <string_view>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/query/query.h"

namespace noisefloor::query {

// The time comes from ended members of the same model, data set and class; where there are none
// it is not guessed.
absl::StatusOr<v1::PlanSweepResponse> MakePlan(SQLite::Database& database,
                                               const sweep::Sweep& sweep,
                                               std::string_view specification_sha256,
                                               std::span<const FleetWorker> fleet);

}  // namespace noisefloor::query
