// The rows of a sweep as what its study is made of.
#pragma once

#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/study_rows.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

inputs::StudySource SourceOf(StudyRows rows);

// Finds what a store has under the hash. `blobs` must outlive it.
inputs::FindFile FilesOf(const BlobStore& blobs);

}  // namespace noisefloor::query
