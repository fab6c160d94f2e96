// Between SQLite and the disk: every page of a database has a sum, put there when the page is
// written to the file (at a checkpoint, in our settings) and looked at whenever it is read from it.
// Internal to this folder and its tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"

namespace noisefloor {

// The name to open a database with; registered at the first call. It lies over what SQLite opens
// files through otherwise. Any thread.
//
// Only a file that leaves room for sums has them (ReserveSums); any other is read and written as it
// is. A page whose sum does not hold is not given to SQLite: the call fails with SQLITE_IOERR_DATA,
// and DamagedPage says which it was. A page that has none (all zero) is given: programs that know
// of no sums write such pages when they fold our log into the file, since SQLite never sees a sum
// of ours, and so none is in the log. What they change themselves keeps the sum of before, which
// then does not hold.
std::string SummedVfs();

// Whether SQLite's extended `code` of a call on this thread means such a page: of a schema that it
// cannot read SQLite tells SQLITE_IOERR alone.
bool IsDamagedPage(int code);
// DataLoss that names file and page, and what to do. After IsDamagedPage.
absl::Status DamagedPage();

// The bytes at the end of each page that SQLite leaves alone; of a connection that has read.
int ReservedBytes(SQLite::Database& database);
// From now on kSumBytes: for a file that has no page yet; for any other with the next VACUUM.
void ReserveSums(SQLite::Database& database);

// Gives a sum to each page that has none, and syncs the file; how many there were. `database` has
// been opened through SummedVfs, is in a write transaction, and its log is empty. `before` is asked
// once, before the first is written: when it is not content, nothing is. DataLoss for a page whose
// sum does not hold; ResourceExhausted when the disk fails or is full: what was done until then
// holds, and the rest can be done later.
absl::StatusOr<uint64_t> SumUnsummedPages(SQLite::Database& database,
                                          const std::function<absl::Status()>& before);

// Whether page 1 has no sum though the file has room for sums: somebody else wrote all of the file
// anew. Reads that page only.
absl::StatusOr<bool> FirstPageIsUnsummed(SQLite::Database& database);

}  // namespace noisefloor
