#include "coordinator/store/derived_files.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/sha256_text.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor {

namespace {

constexpr size_t kFolderDigits = 2;
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

std::string FolderOf(const std::string& root, int number) {
  return fmt::format("{}/{:02x}", root, number);
}

}  // namespace

std::string DerivedFiles::PathOf(std::string_view sha256) const {
  return fmt::format("{}/{}/{}", folder_, sha256.substr(0, kFolderDigits),
                     sha256.substr(kFolderDigits));
}

absl::StatusOr<std::string> DerivedFiles::Read(std::string_view sha256) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  return ReadFile(PathOf(sha256), kMostBytes, *files_);
}

absl::Status DerivedFiles::Keep(std::string_view sha256, std::string_view bytes) const {
  NF_RETURN_IF_ERROR(CheckSha256(sha256));
  const std::string path = PathOf(sha256);
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
  return files_->Remove(PathOf(sha256));
}

absl::StatusOr<std::vector<std::string>> DerivedFiles::FilesIn(int folder) const {
  absl::StatusOr<std::vector<std::string>> names = ListFiles(FolderOf(folder_, folder), *files_);
  if (absl::IsNotFound(names.status())) return std::vector<std::string>();
  return names;
}

absl::StatusOr<std::vector<std::string>> DerivedFiles::NamesIn(int folder) const {
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(folder));
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string sha256 = fmt::format("{:02x}{}", folder, name);
    if (CheckSha256(sha256).ok()) found.push_back(std::move(sha256));
  }
  return found;
}

absl::Status DerivedFiles::RemoveLeftovers() const {
  for (int number = 0; number < BlobStore::kFolders; ++number) {
    NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, FilesIn(number));
    for (const std::string& name : names) {
      if (name.find(".aside-") == std::string::npos) continue;
      NF_RETURN_IF_ERROR(files_->Remove(FolderOf(folder_, number) + "/" + name));
    }
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
