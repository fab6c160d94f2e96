// What must hold of a data directory, whatever has happened to those who wrote it.
#pragma once

#include <string>
#include <vector>

namespace noisefloor::test {

// Each fault in words; none: all is well. Reads beside a coordinator, too. A member that has not
// ended is no fault.
//
// The database is whole by SQLite's own check, and its rows refer to rows that are there; a member
// has an accepted result exactly when it is done or diverged, and then one; one that failed says
// why; one is leased exactly when it has a live lease, and then one; later attempts have higher
// leases; no batch of records of an accepted result is missing; every file of one is there, whole.
std::vector<std::string> FaultsOf(const std::string& home);

// What a study is made of, in lines that do not depend on when or by whom something was done:
// sweeps, members with their states, and of accepted results hashes, metrics, records and files.
std::vector<std::string> StudyOf(const std::string& home);

// First column of every row. A failure is the only line, "cannot read: ...".
std::vector<std::string> Rows(const std::string& home, const std::string& sql);

}  // namespace noisefloor::test
