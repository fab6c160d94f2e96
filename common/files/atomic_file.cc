#include "common/files/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace noisefloor {

namespace {

// A large file is synced as it grows: left to the end, its sync would hold up every other sync of
// the disk, the database's among them, for as long as the whole file takes.
constexpr uint64_t kSyncEveryBytes = uint64_t{8} << 20;

}  // namespace

absl::StatusOr<AtomicFileWriter> AtomicFileWriter::Open(const std::string& path,
                                                        FileSystem& files) {
  NF_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> aside, files.CreateAside(path));
  return AtomicFileWriter(files, path, std::move(aside));
}

AtomicFileWriter::~AtomicFileWriter() { Abandon(); }

AtomicFileWriter& AtomicFileWriter::operator=(AtomicFileWriter&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  files_ = other.files_;
  path_ = std::move(other.path_);
  aside_ = std::move(other.aside_);
  written_bytes_ = other.written_bytes_;
  unsynced_bytes_ = other.unsynced_bytes_;
  failed_ = std::move(other.failed_);
  return *this;
}

void AtomicFileWriter::Abandon() {
  if (aside_ == nullptr) return;
  const std::string path = aside_->path();
  aside_.reset();
  (void)files_->Remove(path);
}

absl::Status AtomicFileWriter::Write(std::span<const std::byte> bytes) {
  return Write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

absl::Status AtomicFileWriter::Write(std::string_view text) {
  NF_CHECK(aside_ != nullptr);
  while (failed_.ok() && !text.empty()) {
    const std::string_view piece = text.substr(0, kSyncEveryBytes - unsynced_bytes_);
    failed_ = aside_->Append(piece);
    if (!failed_.ok()) break;
    text.remove_prefix(piece.size());
    written_bytes_ += piece.size();
    unsynced_bytes_ += piece.size();
    if (unsynced_bytes_ < kSyncEveryBytes) continue;
    failed_ = aside_->Sync();
    unsynced_bytes_ = 0;
  }
  return failed_;
}

absl::Status AtomicFileWriter::Commit() {
  NF_CHECK(aside_ != nullptr);
  NF_RETURN_IF_ERROR(failed_);
  NF_RETURN_IF_ERROR(aside_->Sync());
  NF_RETURN_IF_ERROR(files_->Rename(aside_->path(), path_));
  aside_.reset();
  return files_->SyncFolder(ParentFolder(path_));
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view bytes,
                                 FileSystem& files) {
  NF_ASSIGN_OR_RETURN(AtomicFileWriter writer, AtomicFileWriter::Open(path, files));
  NF_RETURN_IF_ERROR(writer.Write(bytes));
  return writer.Commit();
}

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t limit_bytes,
                                     FileSystem& files) {
  constexpr size_t kPiece = size_t{1} << 16;
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.OpenToRead(path));
  // Some files have content and no size.
  const auto about = files.Inspect(path);
  std::string text;
  size_t used = 0;
  size_t room = std::min<uint64_t>(about.ok() ? about->size_bytes : 0, limit_bytes) + 1;
  while (true) {
    text.resize(used + room);
    NF_ASSIGN_OR_RETURN(const size_t count, file->Read(std::span(text).subspan(used)));
    used += count;
    if (used > limit_bytes) {
      return MakeError(absl::StatusCode::kOutOfRange,
                       fmt::format("{}: larger than the limit of {} bytes", path, limit_bytes));
    }
    if (count < room) break;
    room = kPiece;
  }
  text.resize(used);
  return text;
}

}  // namespace noisefloor
