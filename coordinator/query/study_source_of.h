// The rows of a sweep as what its study is made of.
#pragma once

#include "coordinator/inputs/load_arrays.h"
#include "coordinator/query/study_rows.h"
#include "coordinator/query/verified_files.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/derived_files.h"

namespace noisefloor::query {

inputs::StudySource SourceOf(StudyRows rows);

// Finds what a store has under the hash. Both must outlive it.
inputs::FindFile FilesOf(const BlobStore& blobs, VerifiedFiles& verified);

// What is kept of logits, else what their file says, which is read whole, checked, and kept where
// that can be: one that was lost or damaged is made anew. The file is there in any case, and of its
// size. All must outlive it.
inputs::FindDigest DigestsOf(const BlobStore& blobs, const DerivedFiles& digests,
                             VerifiedFiles& verified);

// Of a file that was checked. On a disk that is full or cannot be written to it is not kept, and
// made again by the next study.
absl::StatusOr<inputs::Digest> MakeDigest(const BlobName& logits, const BlobStore& blobs,
                                          const DerivedFiles& digests);

}  // namespace noisefloor::query
