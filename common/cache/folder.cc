#include "common/cache/folder.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "fmt/format.h"

#include "common/cache/upkeep.h"
#include "common/files/file_error.h"

namespace noisefloor {

namespace fs = std::filesystem;

std::string StateOf(const struct stat& about) {
  return fmt::format("{} {} {} {} {}.{} {}.{}", about.st_dev, about.st_ino, about.st_size,
                     about.st_mode, about.st_mtim.tv_sec, about.st_mtim.tv_nsec,
                     about.st_ctim.tv_sec, about.st_ctim.tv_nsec);
}

absl::StatusOr<std::vector<FolderFile>> ListFolder(const std::string& folder) {
  std::vector<FolderFile> files;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    struct stat about {};
    const std::string path = it->path().string();
    if (stat(path.c_str(), &about) != 0) return FileError(path, "look at", errno);
    if (!S_ISREG(about.st_mode)) continue;
    if (files.size() == kMostTreeFiles) {
      return InvalidInput(fmt::format("{}: more than {} files", folder, kMostTreeFiles));
    }
    files.push_back({{path.substr(folder.size() + 1), static_cast<uint64_t>(about.st_size), "",
                      (about.st_mode & S_IXUSR) != 0},
                     StateOf(about),
                     NewestTime(about)});
  }
  if (error) return FileError(folder, "list", error.value());
  std::ranges::sort(files, {}, [](const FolderFile& file) { return file.file.path; });
  return files;
}

}  // namespace noisefloor
