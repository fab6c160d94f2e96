// The disk, as whatever must not be lost uses it: atomic files, the store of files, the spool.
//
// One seam: everything takes a FileSystem, by default the machine's own. Tests give a disk that
// fails where they say and loses power when they say (tests/support/model_disk.h).
//
// Written is not kept: content is on disk after WritableFile::Sync, and an entry of a folder (a
// name that was made, renamed or removed) after SyncFolder. A sync that failed is never tried again
// in the hope of a better answer: the system may have dropped what it could not write and say yes
// the next time. Write anew instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor {

enum class FileKind : uint8_t { kFile, kFolder, kOther };

struct FileInfo {
  FileKind kind = FileKind::kFile;
  uint64_t size_bytes = 0;
};

struct FolderEntry {
  std::string name;
  FileKind kind = FileKind::kFile;  // Of the entry itself: a link is kOther.
};

// One thread at a time.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  // The next bytes; fewer than asked for only at the end.
  virtual absl::StatusOr<size_t> Read(std::span<char> into) = 0;
};

// One thread at a time. The destructor closes it.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual const std::string& path() const = 0;
  // All of it, at the end. After a failure any part of it may be there.
  virtual absl::Status Append(std::string_view bytes) = 0;
  // All of it there, over what was; not for a file of OpenToAppend. On the machine's own disk any
  // thread, each in a range of its own.
  virtual absl::Status WriteAt(uint64_t offset_bytes, std::string_view bytes) = 0;
  // Exactly that many bytes from there on; Unavailable when the file ends before.
  virtual absl::Status ReadAt(uint64_t offset_bytes, std::span<char> into) const = 0;
  virtual absl::Status Truncate(uint64_t size_bytes) = 0;
  virtual absl::Status Sync() = 0;
  // Where the disk can promise it: no write below that size fails for want of room.
  // ResourceExhausted without the room.
  virtual absl::Status TakeRoom(uint64_t) { return absl::OkStatus(); }
  // Lets the disk begin with what was written, so that Sync finds less to do. Only a hint.
  virtual void StartSync() {}
};

// Any thread. Failures are those of FileError.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<FileInfo> Inspect(const std::string& path) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) = 0;
  virtual absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) = 0;

  // Made when it is missing.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenToAppend(const std::string& path) = 0;
  // Likewise; what is written goes where WriteAt says.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenToOverwrite(
      const std::string& path) = 0;
  // A new file beside `path`, "PATH.aside-XXXXXX", as readable as any other.
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> CreateAside(const std::string& path) = 0;
  // Within one folder; what was at `to` is replaced at that moment.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  // A file or an empty folder. Fine when there is none.
  virtual absl::Status Remove(const std::string& path) = 0;
  // The folder and all below it; links are removed, not followed. Fine when there is none.
  virtual absl::Status RemoveTree(const std::string& path) = 0;
  // False when something of that name is there already.
  virtual absl::StatusOr<bool> MakeFolder(const std::string& path) = 0;
  virtual absl::Status SyncFolder(const std::string& path) = 0;
};

// The machine's own. It has no state.
FileSystem& LocalFileSystem();

// The folder that holds `path`; "." for a bare name.
std::string ParentFolder(const std::string& path);

}  // namespace noisefloor
