// What the attempts of one sweep's members say of where they ran and of their bits.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "SQLiteCpp/Database.h"

#include "coordinator/query/study_rows.h"

namespace noisefloor::query {

using MemberPlaces = std::map<std::pair<uint32_t, uint32_t>, size_t>;  // cell, replicate
using LeasePlaces = std::map<int64_t, size_t>;                         // accepted lease -> member

// Fills in time, unit, software and hashes of each member's accepted attempt. Late results of lost
// leases become the duplicates of a member when they are over its cohort's data and by its
// software; of the others a note tells. Wants the cells and identities in `rows`.
LeasePlaces ReadAttempts(SQLite::Database& database, uint64_t sweep, const MemberPlaces& places,
                         StudyRows& rows);

}  // namespace noisefloor::query
