// The schema of the database file: what it is, and how a file of an older program comes to it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace noisefloor {

// In the header of every file of ours: "NFlr".
inline constexpr int64_t kApplicationId = 0x4E466C72;

// From this version on every page of a file has a sum (summed_vfs.h).
inline constexpr int64_t kFirstVersionWithSums = 9;

struct Schema {
  std::string_view tables;                  // schema.sql: makes an empty file one of version().
  std::string_view views;                   // views.sql: made anew with every change of version.
  std::span<const std::string_view> steps;  // Step i takes a file of version i + 1 to i + 2.

  int64_t version() const { return static_cast<int64_t>(steps.size()) + 1; }
};

// A step that has been released is never changed: append another (migration_N.sql).
const Schema& CurrentSchema();

}  // namespace noisefloor
