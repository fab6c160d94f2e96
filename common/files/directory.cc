#include "common/files/directory.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "common/files/file_error.h"

namespace noisefloor {

namespace {

// `path` is normal and without a slash at its end.
absl::Status CreateWithParents(const std::string& path, FileSystem& files) {
  const auto found = files.Inspect(path);
  if (found.ok() && found->kind == FileKind::kFolder) return absl::OkStatus();
  if (found.ok()) return FileError(path, "create folder", ENOTDIR);
  const std::string parent = ParentFolder(path);
  if (parent != path) NF_RETURN_IF_ERROR(CreateWithParents(parent, files));
  NF_ASSIGN_OR_RETURN(const bool made, files.MakeFolder(path));
  if (!made) return absl::OkStatus();  // Somebody else's, just now.
  absl::Status synced = files.SyncFolder(parent);
  // One that may not be on disk must not be found by the next try.
  if (!synced.ok()) (void)files.Remove(path);
  return synced;
}

}  // namespace

absl::Status CreateDirectories(const std::string& path, FileSystem& files) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  if (normal.empty()) return FileError(path, "create folder", ENOENT);
  return CreateWithParents(normal, files);
}

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder, FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, files.List(folder));
  std::vector<std::string> names;
  for (const FolderEntry& entry : entries) {
    if (entry.kind == FileKind::kFile) names.push_back(entry.name);
  }
  return names;
}

absl::Status RemoveFile(const std::string& path) { return LocalFileSystem().Remove(path); }

absl::Status RemoveTree(const std::string& path) { return LocalFileSystem().RemoveTree(path); }

bool PathExists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace noisefloor
