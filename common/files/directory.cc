#include "common/files/directory.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/files/file_error.h"

namespace noisefloor {

namespace fs = std::filesystem;

absl::Status CreateDirectories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return FileError(path, "create folder", error.value());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator it(folder, error);
  while (!error && it != fs::directory_iterator()) {
    std::error_code vanished;  // A file that went away meanwhile is not in the list.
    if (it->is_regular_file(vanished)) names.push_back(it->path().filename().string());
    it.increment(error);
  }
  if (error) return FileError(folder, "list", error.value());
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status RemoveFile(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) return FileError(path, "remove", error.value());
  return absl::OkStatus();
}

absl::Status RemoveTree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return FileError(path, "remove", error.value());
  return absl::OkStatus();
}

bool PathExists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

}  // namespace noisefloor
