// Attempts that the coordinator has not settled, on disk, so that a restart of either side loses
// nothing that a trainer finished.
//
//   SPOOL/LEASE/member    "s3c12r4 1": member and attempt; the folder counts once this is there
//   SPOOL/LEASE/records   one line per record batch, in order
//   SPOOL/LEASE/work/     the trainer's own folder
//   SPOOL/LEASE/log       the trainer's output
//   SPOOL/LEASE/result    atomic; written once everything else is synced
//
// Owns everything under its folder. One thread. Fails with ResourceExhausted when `limit_bytes`
// are waiting.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "worker/daemon/attempt_result.h"

namespace noisefloor {

struct SpooledAttempt {
  LeaseId lease;
  std::string member;
  uint32_t attempt = 0;
  std::optional<AttemptResult> result;  // None: the worker ended before the trainer did.
};

class Spool {
 public:
  Spool(std::string folder, uint64_t limit_bytes);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What an earlier process left, in order of leases. Folders that are not whole are removed.
  // Call first.
  absl::StatusOr<std::vector<SpooledAttempt>> Recover();

  // Makes room for an attempt. AlreadyExists when the lease has one.
  absl::Status Begin(LeaseId lease, const std::string& member, uint32_t attempt);
  std::string WorkFolder(LeaseId lease) const { return FolderOf(lease) + "/work"; }
  std::string LogPath(LeaseId lease) const { return FolderOf(lease) + "/log"; }

  // Keeps a record batch as the line that the trainer wrote. `sequence` is the next one.
  absl::Status AppendRecords(LeaseId lease, uint64_t sequence, std::string_view line);
  absl::StatusOr<std::string> ReadRecords(LeaseId lease, uint64_t sequence) const;

  // Batches of a lease; 0 when there is no such attempt.
  uint64_t Batches(LeaseId lease) const;

  // The result is durable when this returns; may be called again with another one.
  absl::Status Finish(LeaseId lease, const AttemptResult& result);
  // Fine when there is none.
  void Remove(LeaseId lease);

  uint64_t used_bytes() const { return used_bytes_; }

 private:
  struct Entry {
    int records = -1;            // File descriptor.
    std::vector<uint64_t> ends;  // ends[i]: where batch i + 1 ends.
    uint64_t charged_bytes = 0;  // Of used_bytes_.
  };

  std::string FolderOf(LeaseId lease) const;
  absl::StatusOr<SpooledAttempt> RecoverOne(LeaseId lease);
  absl::Status OpenRecords(LeaseId lease, Entry& entry);
  absl::Status Charge(Entry& entry, uint64_t bytes);

  const std::string folder_;
  const uint64_t limit_bytes_;
  std::map<LeaseId, Entry> entries_;
  uint64_t used_bytes_ = 0;
};

}  // namespace noisefloor
