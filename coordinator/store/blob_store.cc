#include "coordinator/store/blob_store.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "common/base/sha256_text.h"
#include "common/files/directory.h"
#include "coordinator/store/hash_folders.h"

namespace noisefloor {

namespace {

constexpr size_t kPieceBytes = 1 << 20;

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

absl::Status BlobWriter::Check() {
  if (file_.written_bytes() != name_.size_bytes) {
    return InvalidInput(fmt::format("{}: {} bytes announced, {} came", name_.sha256,
                                    name_.size_bytes, file_.written_bytes()));
  }
  const std::string found = hash_.Hex();
  if (found != name_.sha256) {
    return InvalidInput(
        fmt::format("SHA-256 {} announced, the content has {}", name_.sha256, found));
  }
  checked_ = true;
  return absl::OkStatus();
}

absl::Status BlobWriter::Commit() {
  if (!checked_) NF_RETURN_IF_ERROR(Check());
  absl::Status kept = file_.Commit();
  if (!kept.ok() && file_.in_place()) *doubt_ = true;
  return kept;
}

absl::StatusOr<BlobStore> BlobStore::Open(const std::string& home, FileSystem& files) {
  BlobStore store(home + "/blobs", files);
  NF_RETURN_IF_ERROR(CreateDirectories(store.folder_, files));
  // All at once and synced once: no upload then has to wonder whether the folder of its file was
  // made by a process that ended before it could sync.
  for (int number = 0; number < kFolders; ++number) {
    NF_RETURN_IF_ERROR(files.MakeFolder(hash_folders::FolderOf(store.folder_, number)).status());
  }
  NF_RETURN_IF_ERROR(files.SyncFolder(store.folder_));
  NF_RETURN_IF_ERROR(files.SyncFolder(home));
  return store;
}

absl::StatusOr<BlobWriter> BlobStore::Create(BlobName name) const {
  NF_RETURN_IF_ERROR(CheckSha256(name.sha256));
  NF_ASSIGN_OR_RETURN(AtomicFileWriter file, AtomicFileWriter::Open(PathOf(name.sha256), *files_));
  return BlobWriter(std::move(name), std::move(file), doubt_);
}

absl::Status BlobStore::Put(const BlobName& name, std::string_view content) const {
  NF_ASSIGN_OR_RETURN(const bool held, Holds(name));
  if (held) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(BlobWriter writer, Create(name));
  NF_RETURN_IF_ERROR(writer.Write(content));
  return writer.Commit();
}

absl::StatusOr<bool> BlobStore::Holds(const BlobName& name) const {
  if (*doubt_ || !Verify(name).ok()) return false;
  absl::Status synced = files_->SyncFolder(ParentFolder(PathOf(name.sha256)));
  if (synced.ok()) return true;
  *doubt_ = true;
  return synced;
}

bool BlobStore::Has(const BlobName& name) const {
  const std::string path = PathOf(name.sha256);
  if (path.empty()) return false;
  const auto about = files_->Inspect(path);
  return about.ok() && about->kind == FileKind::kFile && about->size_bytes == name.size_bytes;
}

absl::Status BlobStore::Verify(const BlobName& name) const {
  NF_RETURN_IF_ERROR(CheckSha256(name.sha256));
  const std::string path = PathOf(name.sha256);
  NF_ASSIGN_OR_RETURN(const FileInfo about, files_->Inspect(path));
  if (about.kind != FileKind::kFile || about.size_bytes != name.size_bytes) {
    return MakeError(absl::StatusCode::kDataLoss, fmt::format("{}: {} bytes, expected {}", path,
                                                              about.size_bytes, name.size_bytes));
  }
  NF_ASSIGN_OR_RETURN(const std::string found, Sha256File(path, *files_));
  if (found == name.sha256) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: its content has changed, SHA-256 is now {}", path, found));
}

std::string BlobStore::PathOf(std::string_view sha256) const {
  if (!CheckSha256(sha256).ok()) return "";
  return hash_folders::PathOf(folder_, sha256);
}

absl::StatusOr<std::vector<std::string>> BlobStore::NamesIn(int folder) const {
  return hash_folders::NamesIn(folder_, folder, *files_);
}

absl::StatusOr<uint64_t> BlobStore::SizeOf(std::string_view sha256) const {
  NF_ASSIGN_OR_RETURN(const FileInfo about, files_->Inspect(PathOf(sha256)));
  return about.size_bytes;
}

absl::Status BlobStore::Remove(std::string_view sha256) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  return files_->Remove(PathOf(sha256));
}

absl::Status BlobStore::SyncFolders() const {
  for (int number = 0; number < kFolders; ++number) {
    NF_RETURN_IF_ERROR(files_->SyncFolder(hash_folders::FolderOf(folder_, number)));
  }
  return absl::OkStatus();
}

absl::Status BlobStore::RemoveLeftovers() const {
  for (int number = 0; number < kFolders; ++number) {
    NF_RETURN_IF_ERROR(hash_folders::RemoveLeftovers(folder_, number, *files_));
  }
  return absl::OkStatus();
}

absl::Status CopyBlob(const BlobStore& from, const BlobStore& to, const BlobName& name) {
  NF_ASSIGN_OR_RETURN(const auto source, from.files_->OpenToRead(from.PathOf(name.sha256)));
  NF_ASSIGN_OR_RETURN(BlobWriter writer, to.Create(name));
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    NF_ASSIGN_OR_RETURN(const size_t read, source->Read(piece));
    if (read == 0) return writer.Commit();
    NF_RETURN_IF_ERROR(writer.Write(std::string_view(piece).substr(0, read)));
  }
}

}  // namespace noisefloor
