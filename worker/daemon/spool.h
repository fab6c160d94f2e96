// Attempts that the coordinator has not settled, on disk, so that a restart of either side loses
// nothing that a trainer finished.
//
//   SPOOL/LEASE/member    "s3c12r4 1": member and attempt; the folder counts while this is there
//   SPOOL/LEASE/records   one line per record batch, in order
//   SPOOL/LEASE/work/     the trainer's own folder
//   SPOOL/LEASE/log       the trainer's output
//   SPOOL/LEASE/result    atomic; written once everything else is synced. Its last line is a hash
//                         of the other lines and of the records
//
// Owns everything under its folder. One thread. Fails with ResourceExhausted when `limit_bytes`
// are waiting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/files/file_system.h"
#include "worker/daemon/attempt_result.h"

namespace noisefloor {

struct SpooledAttempt {
  LeaseId lease;
  std::string member;
  uint32_t attempt = 0;
  std::optional<AttemptResult> result;  // None: the worker ended before the trainer did.
};

// A folder of which no attempt was made.
struct SpoolLoss {
  LeaseId lease;
  absl::Status why;
  bool removed = false;  // Else it could not be read just now, and is left for the next start.
};

struct RecoveredSpool {
  std::vector<SpooledAttempt> attempts;
  std::vector<SpoolLoss> losses;
};

class Spool {
 public:
  // `files` outlives the spool.
  Spool(std::string folder, uint64_t limit_bytes, FileSystem& files = LocalFileSystem());
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  // What an earlier process left, in order of leases. Folders that are not whole, or whose content
  // is not what was written, are removed. Call first.
  absl::StatusOr<RecoveredSpool> Recover();

  // Makes room for an attempt. AlreadyExists when the lease has one.
  absl::Status Begin(LeaseId lease, const std::string& member, uint32_t attempt);
  std::string FolderOf(LeaseId lease) const;
  std::string WorkFolder(LeaseId lease) const { return FolderOf(lease) + "/work"; }
  std::string LogPath(LeaseId lease) const { return FolderOf(lease) + "/log"; }

  // Keeps a record batch as the line that the trainer wrote. `sequence` is the next one.
  absl::Status AppendRecords(LeaseId lease, uint64_t sequence, std::string_view line);
  absl::StatusOr<std::string> ReadRecords(LeaseId lease, uint64_t sequence) const;

  // Batches of a lease; 0 when there is no such attempt.
  uint64_t Batches(LeaseId lease) const;

  // The result is durable when this returns; may be called again with another one. Never OK again
  // once the records could not be synced.
  absl::Status Finish(LeaseId lease, const AttemptResult& result);
  // Fine when there is none.
  void Remove(LeaseId lease);

  // Whether the disk still takes a small file of this attempt; else why not.
  absl::Status CheckRoom(LeaseId lease) const;

  uint64_t used_bytes() const { return used_bytes_; }

 private:
  struct Entry {
    std::unique_ptr<WritableFile> records;
    absl::Status sync;           // Of the records; a failure stays.
    std::vector<uint64_t> ends;  // ends[i]: where batch i + 1 ends.
    std::string chain;           // Hash of all batches; of the chain before and the next line.
    uint64_t charged_bytes = 0;  // Of used_bytes_.
  };

  absl::StatusOr<SpooledAttempt> RecoverOne(LeaseId lease);
  absl::Status MakeFolders(LeaseId lease, const std::string& member, uint32_t attempt);
  absl::Status OpenRecords(LeaseId lease, Entry& entry);
  absl::Status ReadResult(SpooledAttempt& attempt, const Entry& entry) const;
  absl::Status Charge(Entry& entry, uint64_t bytes);
  void Close(LeaseId lease);

  const std::string folder_;
  const uint64_t limit_bytes_;
  FileSystem& files_;
  std::map<LeaseId, Entry> entries_;
  uint64_t used_bytes_ = 0;
};

}  // namespace noisefloor
