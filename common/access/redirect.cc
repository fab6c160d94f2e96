#include "common/access/redirect.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/access/access_file.h"
#include "common/files/directory.h"

namespace noisefloor {

namespace {

absl::StatusOr<std::vector<std::string>> FilesAt(const std::string& place) {
  std::error_code error;
  if (!std::filesystem::is_directory(place, error)) return std::vector<std::string>{place};
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(place));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (name.ends_with(".access")) paths.push_back(place + "/" + name);
  }
  return paths;
}

// What it is a link to is written; who might read it still may.
absl::Status Rewrite(const std::string& path, const AccessFile& file) {
  std::error_code error;
  const std::string real = std::filesystem::canonical(path, error).string();
  struct stat before {};
  if (error || stat(real.c_str(), &before) != 0) return WriteAccessFile(path, file);
  NF_RETURN_IF_ERROR(WriteAccessFile(real, file));
  // As far as we may: it is its owner's alone otherwise.
  const bool same_group = before.st_gid == getegid() || chown(real.c_str(), -1, before.st_gid) == 0;
  if (same_group) (void)chmod(real.c_str(), before.st_mode & (S_IRUSR | S_IWUSR | S_IRGRP));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PointAccessFiles(const std::string& place,
                                                          const std::string& certificate,
                                                          const std::string& coordinator) {
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesAt(place));
  std::vector<std::string> pointed;
  absl::Status first;  // Of those that could not be written; the others are all the same.
  for (const std::string& path : paths) {
    absl::StatusOr<AccessFile> file = ReadAccessFile(path);
    if (!file.ok() || file->certificate != certificate) continue;
    const bool other = file->coordinator != coordinator;
    file->coordinator = coordinator;
    const absl::Status written = other ? Rewrite(path, *file) : absl::OkStatus();
    if (written.ok()) pointed.push_back(path);
    if (first.ok()) first = written;
  }
  if (!first.ok()) return first;
  return pointed;
}

}  // namespace noisefloor
