#include "common/access/redirect.h"

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

}  // namespace

absl::StatusOr<std::vector<std::string>> PointAccessFiles(const std::string& place,
                                                          const std::string& certificate,
                                                          const std::string& coordinator) {
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FilesAt(place));
  std::vector<std::string> pointed;
  for (const std::string& path : paths) {
    absl::StatusOr<AccessFile> file = ReadAccessFile(path);
    if (!file.ok() || file->certificate != certificate) continue;
    pointed.push_back(path);
    if (file->coordinator == coordinator) continue;
    file->coordinator = coordinator;
    NF_RETURN_IF_ERROR(WriteAccessFile(path, *file));
  }
  return pointed;
}

}  // namespace noisefloor
