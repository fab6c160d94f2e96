// Files that are either whole or not there: written aside, synced, renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor {

// Writes `bytes` to `path` so that after a crash at any moment the old content, the new one or no
// file is there, never a part. The folder must exist. Two writers of one path: the last one wins.
absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes);

// The same for content that arrives in pieces. Move-only; one thread at a time. Without Commit
// (or after a failed Write) nothing appears at `path` and what was written aside is removed.
class AtomicFileWriter {
 public:
  static absl::StatusOr<AtomicFileWriter> Open(const std::string& path);
  ~AtomicFileWriter();
  AtomicFileWriter(AtomicFileWriter&& other) noexcept;
  AtomicFileWriter& operator=(AtomicFileWriter&& other) noexcept;

  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Write(std::string_view text);
  // Syncs, renames, syncs the folder. At most once.
  absl::Status Commit();

  uint64_t written_bytes() const { return written_bytes_; }

 private:
  AtomicFileWriter(std::string path, std::string aside, int file);
  void Abandon();

  std::string path_;
  std::string aside_;  // "PATH.aside-XXXXXX", in the same folder.
  int file_ = -1;
  uint64_t written_bytes_ = 0;
};

// The whole file. ResourceExhausted when it is larger than `limit_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t limit_bytes);

}  // namespace noisefloor
