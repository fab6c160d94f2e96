// What no coordinator on this machine can beat: the same sessions, the same commits, and nothing
// decided, so that ratios are of one machine at one time.
#pragma once

#include <cstddef>
#include <string>

#include "nlohmann/json.hpp"

namespace noisefloor::bench {

// Serves the sessions of workers and SubmitSweep on a free port of loopback until standard input
// ends; prints a line with the address first. One thread keeps all that has come since its last
// commit in one transaction of SQLite (WAL, synchronous=FULL) in `folder`: member, lease, three
// events, records and the end, whose bytes stay as they came; then it acknowledges, and gives the
// next out. `members` wait from the start; SubmitSweep adds as many as its sweep has replicates.
nlohmann::json ServeFloor(const std::string& folder, size_t members);

// The disk itself, for `seconds`: appends of 4 KiB, each synced, in milliseconds; `mebibytes` are
// written meanwhile to another file, synced every 8 MiB, at full speed.
nlohmann::json MeasureDisk(const std::string& folder, double seconds, size_t mebibytes);

}  // namespace noisefloor::bench
