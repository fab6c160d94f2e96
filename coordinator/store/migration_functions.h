// What migrations need and SQL has not. Internal to this folder.
#pragma once

#include "SQLiteCpp/Database.h"

namespace noisefloor {

// For this connection, until it is closed:
//   nf_sha256(text) -> blob of 32 bytes        nf_unhex(text) -> blob; of no hash: its bytes
//   nf_key(hash) -> NumberOfHash
//   nf_cell_specification(text) -> what the specification shares with others of its cell
//   nf_facts(environment, sha256), nf_measured(environment, sha256) -> SplitEnvironment; of a text
//     that is not of this hash, or no object: the text itself, and nothing
//   nf_number(value, special) -> JSON: 0.25, "nan"
void RegisterMigrationFunctions(SQLite::Database& database);

}  // namespace noisefloor
