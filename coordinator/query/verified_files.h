// Which files were read whole and found to be what their hashes say, so that a study that is made
// again does not read all of them again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor::query {

// Remembers what the system says of a file that was verified: device, number, size and the time of
// its last change. One of which that is another is read again. What a disk changes by itself
// afterwards is noticed by the next process. Thread-safe.
class VerifiedFiles {
 public:
  explicit VerifiedFiles(size_t most = 100'000) : most_(most) {}
  // As BlobStore::Verify.
  absl::Status Verify(const BlobStore& blobs, const BlobName& name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Device, number, bytes, seconds and nanoseconds of the last change.
  using Identity = std::tuple<uint64_t, uint64_t, uint64_t, int64_t, int64_t>;
  static Identity IdentityOf(const std::string& path);

  const size_t most_;
  Mutex mutex_;
  std::map<std::string, Identity> known_ ABSL_GUARDED_BY(mutex_);  // By hash.
};

}  // namespace noisefloor::query
