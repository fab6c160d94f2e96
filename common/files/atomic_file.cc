#include "common/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "common/base/check.h"
#include "common/files/file_error.h"

namespace noisefloor {

namespace {

// A rename is on disk only when the folder that holds it is.
absl::Status SyncFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder.push_back('.');
  const int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return FileError(folder, "open", errno);
  const int failed = fsync(handle) == 0 ? 0 : errno;
  close(handle);
  // Some network file systems cannot sync a folder; there is nothing better to do there.
  if (failed != 0 && failed != EINVAL) return FileError(folder, "sync", failed);
  return absl::OkStatus();
}

// mkstemp makes files that only the owner can read; ours are as readable as any other.
mode_t OrdinaryMode() {
  static const mode_t mask = [] {
    const mode_t current = umask(0);
    umask(current);
    return current;
  }();
  return 0666 & ~mask;
}

absl::Status ReadInto(int file, const std::string& path, uint64_t limit_bytes, std::string& text) {
  struct stat about {};
  if (fstat(file, &about) != 0) return FileError(path, "inspect", errno);
  if (S_ISDIR(about.st_mode)) return FileError(path, "read", EISDIR);
  constexpr size_t kPiece = size_t{1} << 16;
  size_t used = 0;
  text.resize(std::min<uint64_t>(static_cast<uint64_t>(about.st_size), limit_bytes) + 1);
  while (true) {
    if (used == text.size()) text.resize(used + kPiece);
    const ssize_t count = read(file, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path, "read", errno);
    if (count == 0) break;
    used += static_cast<size_t>(count);
    if (used > limit_bytes) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       fmt::format("{}: larger than the limit of {} bytes", path, limit_bytes));
    }
  }
  text.resize(used);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AtomicFileWriter> AtomicFileWriter::Open(const std::string& path) {
  std::string aside = path;
  aside.append(".aside-XXXXXX");
  const int file = mkostemp(aside.data(), O_CLOEXEC);
  if (file < 0) return FileError(path, "create", errno);
  AtomicFileWriter writer(path, std::move(aside), file);
  if (fchmod(file, OrdinaryMode()) != 0) return FileError(path, "create", errno);
  return writer;
}

AtomicFileWriter::AtomicFileWriter(std::string path, std::string aside, int file)
    : path_(std::move(path)), aside_(std::move(aside)), file_(file) {}

AtomicFileWriter::~AtomicFileWriter() { Abandon(); }

AtomicFileWriter::AtomicFileWriter(AtomicFileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      aside_(std::move(other.aside_)),
      file_(std::exchange(other.file_, -1)),
      written_bytes_(other.written_bytes_) {}

AtomicFileWriter& AtomicFileWriter::operator=(AtomicFileWriter&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  path_ = std::move(other.path_);
  aside_ = std::move(other.aside_);
  file_ = std::exchange(other.file_, -1);
  written_bytes_ = other.written_bytes_;
  return *this;
}

void AtomicFileWriter::Abandon() {
  if (file_ < 0) return;
  close(std::exchange(file_, -1));
  unlink(aside_.c_str());
}

absl::Status AtomicFileWriter::Write(std::span<const std::byte> bytes) {
  NF_CHECK(file_ >= 0);
  while (!bytes.empty()) {
    const ssize_t count = write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path_, "write", errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
    written_bytes_ += static_cast<uint64_t>(count);
  }
  return absl::OkStatus();
}

absl::Status AtomicFileWriter::Write(std::string_view text) {
  return Write(std::as_bytes(std::span(text.data(), text.size())));
}

absl::Status AtomicFileWriter::Commit() {
  NF_CHECK(file_ >= 0);
  if (fsync(file_) != 0) return FileError(path_, "sync", errno);
  if (rename(aside_.c_str(), path_.c_str()) != 0) return FileError(path_, "rename", errno);
  close(std::exchange(file_, -1));
  return SyncFolderOf(path_);
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path));
  NF_RETURN_IF_ERROR(writer.Write(bytes));
  return writer.Commit();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t limit_bytes) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError(path, "open", errno);
  std::string text;
  const absl::Status status = ReadInto(file, path, limit_bytes, text);
  close(file);
  if (!status.ok()) return status;
  return text;
}

}  // namespace noisefloor
