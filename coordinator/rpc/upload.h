// Takes one file of a live lease.
#pragma once

#include <cstdint>
#include <functional>

#include "grpcpp/support/sync_stream.h"

#include "common/base/ids.h"
#include "common/base/status.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

struct UploadLimits {
  uint64_t max_bytes = 4ull << 30;       // Of one file.
  std::function<bool(LeaseId)> is_live;  // Any thread; never blocks.
};

// Reads the header, then pieces, into the blob store; blocks the calling thread on network and
// disk. What the store has already is not read.
// FailedPrecondition: the lease is not live. ResourceExhausted: too large, or the disk is full.
// InvalidArgument: no header first, a piece that is too large, size or hash not as announced.
absl::StatusOr<v1::UploadResponse> ReceiveUpload(
    grpc::ServerReaderInterface<v1::UploadRequest>& reader, const BlobStore& blobs,
    const UploadLimits& limits);

}  // namespace noisefloor
