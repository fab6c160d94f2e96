// Files that are either whole or not there: written aside, synced, renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

// Writes `bytes` to `path` so that after a crash or a loss of power at any moment the old content,
// the new one or no file is there, never a part. On disk when OK. The folder must exist. Two
// writers of one path: the last one wins.
absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                                 FileSystem& files = LocalFileSystem());

// The same for content that arrives in pieces. Move-only; one thread at a time. Without Commit
// (or after a failed Write) nothing appears at `path` and what was written aside is removed.
class AtomicFileWriter {
 public:
  // `files` outlives the writer.
  static absl::StatusOr<AtomicFileWriter> Open(const std::string& path,
                                               FileSystem& files = LocalFileSystem());
  ~AtomicFileWriter();
  AtomicFileWriter(AtomicFileWriter&& other) noexcept = default;
  AtomicFileWriter& operator=(AtomicFileWriter&& other) noexcept;

  absl::Status Write(std::span<const std::byte> bytes);
  absl::Status Write(std::string_view text);
  // Syncs, renames, syncs the folder. At most once. After a failure the old content or the new one
  // is at `path`, and what a loss of power leaves of it is not known: write it anew.
  absl::Status Commit();

  uint64_t written_bytes() const { return written_bytes_; }
  // The content is at `path`, though Commit may have failed after that.
  bool in_place() const { return aside_ == nullptr; }

 private:
  AtomicFileWriter(FileSystem& files, std::string path, std::unique_ptr<WritableFile> aside)
      : files_(&files), path_(std::move(path)), aside_(std::move(aside)) {}
  void Abandon();

  FileSystem* files_;
  std::string path_;
  std::unique_ptr<WritableFile> aside_;  // None once it was renamed.
  uint64_t written_bytes_ = 0;
  uint64_t unsynced_bytes_ = 0;
  absl::Status failed_;  // Of a Write; what follows it fails alike.
};

// The whole file. OutOfRange when it is larger than `limit_bytes`.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t limit_bytes,
                                     FileSystem& files = LocalFileSystem());

}  // namespace noisefloor
