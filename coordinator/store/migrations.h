// The schema of the database file, as steps from one version to the next.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor {

// In the header of every file of ours: "NFlr".
inline constexpr int64_t kApplicationId = 0x4E466C72;

// Step i takes a file from user_version i to i + 1, in one transaction: schema.sql, then
// migration_2.sql and so on.
// Never change one that has been released: append another.
std::span<const std::string_view> Migrations();

}  // namespace noisefloor
