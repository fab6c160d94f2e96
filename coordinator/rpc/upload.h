// Takes one file of a live lease.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/support/sync_stream.h"

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/rpc/channel.h"
#include "coordinator/figures/loop_figures.h"
#include "coordinator/store/blob_store.h"
#include "noisefloor/v1/worker_api.pb.h"

namespace noisefloor {

struct UploadedBy {
  MemberId member;
  uint32_t attempt = 0;
  std::string worker;  // Its name.
};

// How many uploads of each lease go on: one lease does not take the places of all. Thread-safe.
class LeaseUploads {
 public:
  // A worker sends the files of an attempt one after the other; one that broke off may not have
  // ended here yet.
  static constexpr size_t kMost = 8;

  // False when that many go on; else End comes behind it.
  [[nodiscard]] bool Begin(LeaseId lease) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(LeaseId lease) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::map<LeaseId, size_t> open_ ABSL_GUARDED_BY(mutex_);
};

struct UploadLimits {
  uint64_t max_bytes = kMaxFileBytes;    // Of one file.
  std::function<bool(LeaseId)> is_live;  // Any thread; never blocks.
  // Keeps the content from being removed until the lease is settled; false: the lease has as many
  // as it may. Any thread; may be empty.
  std::function<bool(const std::string& sha256, LeaseId)> pin = nullptr;
  // For the log: whose live lease it is. Any thread; may be empty.
  std::function<std::optional<UploadedBy>(LeaseId)> whose = nullptr;
  // A file of that kind was written. Any thread; never blocks; may be empty.
  std::function<void(const std::string& kind, const BlobName&)> written = nullptr;
  figures::UploadFigures* figures = nullptr;  // Kept up to date when there is one.
  LeaseUploads* of_leases = nullptr;          // Counts them when there is one.
  size_t most_at_once = 256;                  // Each has a thread.
  absl::Duration idle = absl::Minutes(1);  // One whose next piece does not come for so long ends.
  absl::Duration register_by = absl::Seconds(10);  // Of a session: its first message.
};

// Reads the header, then pieces, into the blob store; blocks the calling thread on network and
// disk. What the store has already, undamaged, is not read from the network.
// FailedPrecondition: the lease is not live. ResourceExhausted: the disk is full, or as many
// uploads of this lease go on as may; try again. `lease` is set to the one that the header names,
// once it has come. InvalidArgument: no header first, a file or piece above its limit or an empty
// piece, size or hash not as announced, more files than a result may name.
absl::StatusOr<v1::UploadResponse> ReceiveUpload(
    grpc::ServerReaderInterface<v1::UploadRequest>& reader, const BlobStore& blobs,
    const UploadLimits& limits, LeaseId* lease = nullptr);

}  // namespace noisefloor
