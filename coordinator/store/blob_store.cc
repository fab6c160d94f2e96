#include "coordinator/store/blob_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/sha256_text.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"

namespace noisefloor {

namespace {

constexpr size_t kFolderDigits = 2;

absl::Status SyncFolder(const std::string& folder) {
  const int handle = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle < 0) return FileError(folder, "open", errno);
  const int failed = fsync(handle) == 0 ? 0 : errno;
  close(handle);
  if (failed != 0 && failed != EINVAL) return FileError(folder, "sync", failed);
  return absl::OkStatus();
}

// A new folder is on disk only when the one that holds it is synced.
absl::Status MakeFolder(const std::string& path, const std::string& parent) {
  if (mkdir(path.c_str(), 0777) == 0) return SyncFolder(parent);
  if (errno == EEXIST) return absl::OkStatus();
  return FileError(path, "create", errno);
}

}  // namespace

absl::Status CheckSha256(std::string_view sha256) {
  if (IsSha256(sha256)) return absl::OkStatus();
  return InvalidInput(fmt::format("sha256: expected 64 lower-case hexadecimal digits, got \"{}\"",
                                  sha256.substr(0, 100)));
}

absl::Status BlobWriter::Write(std::string_view piece) {
  if (piece.size() > name_.size_bytes - file_.written_bytes()) {
    return InvalidInput(
        fmt::format("{}: more than the announced {} bytes", name_.sha256, name_.size_bytes));
  }
  hash_.Update(piece);
  return file_.Write(piece);
}

absl::Status BlobWriter::Commit() {
  if (file_.written_bytes() != name_.size_bytes) {
    return InvalidInput(fmt::format("{}: {} bytes announced, {} came", name_.sha256,
                                    name_.size_bytes, file_.written_bytes()));
  }
  const std::string found = hash_.Hex();
  if (found != name_.sha256) {
    return InvalidInput(
        fmt::format("SHA-256 {} announced, the content has {}", name_.sha256, found));
  }
  return file_.Commit();
}

absl::StatusOr<BlobStore> BlobStore::Open(const std::string& home) {
  NF_RETURN_IF_ERROR(CreateDirectories(home));
  BlobStore store(home + "/blobs");
  NF_RETURN_IF_ERROR(MakeFolder(store.folder_, home));
  return store;
}

absl::StatusOr<BlobWriter> BlobStore::Create(BlobName name) const {
  NF_RETURN_IF_ERROR(CheckSha256(name.sha256));
  NF_RETURN_IF_ERROR(MakeFolder(folder_ + "/" + name.sha256.substr(0, kFolderDigits), folder_));
  NF_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Open(PathOf(name.sha256)));
  return BlobWriter(std::move(name), std::move(file));
}

absl::Status BlobStore::Put(const BlobName& name, std::string_view content) const {
  if (Has(name)) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(BlobWriter writer, Create(name));
  NF_RETURN_IF_ERROR(writer.Write(content));
  return writer.Commit();
}

bool BlobStore::Has(const BlobName& name) const {
  struct stat about {};
  const std::string path = PathOf(name.sha256);
  return !path.empty() && stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         static_cast<uint64_t>(about.st_size) == name.size_bytes;
}

absl::Status BlobStore::Verify(const BlobName& name) const {
  NF_RETURN_IF_ERROR(CheckSha256(name.sha256));
  const std::string path = PathOf(name.sha256);
  std::error_code failed;
  const uint64_t size = std::filesystem::file_size(path, failed);
  if (failed) return FileError(path, "inspect", failed.value());
  if (size != name.size_bytes) {
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("{}: {} bytes, expected {}", path, size, name.size_bytes));
  }
  NF_ASSIGN_OR_RETURN(const std::string found, Sha256File(path));
  if (found == name.sha256) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: its content has changed, SHA-256 is now {}", path, found));
}

std::string BlobStore::PathOf(std::string_view sha256) const {
  if (!CheckSha256(sha256).ok()) return "";
  return fmt::format("{}/{}/{}", folder_, sha256.substr(0, kFolderDigits),
                     sha256.substr(kFolderDigits));
}

absl::Status BlobStore::RemoveLeftovers() const {
  for (int first = 0; first < 256; ++first) {
    const std::string folder = fmt::format("{}/{:02x}", folder_, first);
    if (!PathExists(folder)) continue;
    NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(folder));
    for (const std::string& name : names) {
      if (name.find(".aside-") == std::string::npos) continue;
      NF_RETURN_IF_ERROR(RemoveFile(folder + "/" + name));
    }
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
