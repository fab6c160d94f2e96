#include "coordinator/store/derived_files.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "common/files/atomic_file.h"
#include "coordinator/store/blob_store.h"
#include "coordinator/store/hash_folders.h"

namespace noisefloor {

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 30;

}  // namespace

absl::StatusOr<std::string> DerivedFiles::Read(std::string_view sha256) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  return ReadFile(hash_folders::PathOf(folder_, sha256), kMostBytes, *files_);
}

absl::Status DerivedFiles::Keep(std::string_view sha256, std::string_view bytes) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  const std::string path = hash_folders::PathOf(folder_, sha256);
  NF_RETURN_IF_ERROR(files_->MakeFolder(folder_).status());
  NF_RETURN_IF_ERROR(files_->MakeFolder(ParentFolder(path)).status());
  NF_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> aside, files_->CreateAside(path));
  absl::Status kept = aside->Append(bytes);
  if (kept.ok()) kept = files_->Rename(aside->path(), path);
  if (!kept.ok()) (void)files_->Remove(aside->path());
  return kept;
}

absl::Status DerivedFiles::Remove(std::string_view sha256) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  return files_->Remove(hash_folders::PathOf(folder_, sha256));
}

absl::StatusOr<std::vector<std::string>> DerivedFiles::NamesIn(int folder) const {
  auto names = hash_folders::NamesIn(folder_, folder, *files_);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

absl::Status DerivedFiles::RemoveLeftovers() const {
  for (int number = 0; number < hash_folders::kFolders; ++number) {
    const absl::Status removed = hash_folders::RemoveLeftovers(folder_, number, *files_);
    if (!absl::IsNotFound(removed)) NF_RETURN_IF_ERROR(removed);
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
