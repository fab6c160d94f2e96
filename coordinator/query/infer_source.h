// What an inference is made of. SQLite's exceptions pass through.
#pragma once

#include <string>

#include "SQLiteCpp/Database.h"

#include "common/base/status.h"
#include "coordinator/query/query.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

// As Query::FindInferSources.
absl::StatusOr<InferSources> FindInferSources(SQLite::Database& database,
                                              const InferQuestion& question,
                                              const BlobStore& blobs);

// True, or NotFound: no inference evaluates weights of that hash.
absl::StatusOr<bool> CheckIsInferred(SQLite::Database& database, const std::string& sha256);

}  // namespace noisefloor::query
