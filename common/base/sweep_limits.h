// How large a sweep may be: one place for the reader of sweep files, the service and the core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace noisefloor::sweep {

inline constexpr size_t kMaxCells = 10000;
inline constexpr uint32_t kMaxMembers = 100000;
inline constexpr uint32_t kMaxBlocks = 10000;
inline constexpr uint32_t kMaxAxes = 20;
inline constexpr uint32_t kMaxPlans = 100;
// Replicates of a plan of which `until` decides: fewer say next to nothing of a spread, and what a
// sweep file has that states none.
inline constexpr uint32_t kLeastPilot = 5;
inline constexpr uint32_t kUsualPilot = 10;
inline constexpr double kLeastHalfWidth = 0.0001;
inline constexpr double kMostHalfWidth = 0.1;  // Below it: wider intervals say nothing.
inline constexpr uint32_t kMaxLevels = 10000;  // Entries of a source's list, before it repeats.
inline constexpr size_t kMaxNotesBytes = 10000;
inline constexpr size_t kMaxTags = 100;
inline constexpr size_t kMaxTagBytes = 200;               // Of its value.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;  // Of a sweep file.

// The first line of a resolved sweep file whose sweep was extended.
inline constexpr char kExtendedNote[] = "# Extended since it was submitted.\n";

}  // namespace noisefloor::sweep
