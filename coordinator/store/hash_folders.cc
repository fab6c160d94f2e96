#include "coordinator/store/hash_folders.h"

#include <fmt/format.h>

#include <utility>

#include "common/base/sha256_text.h"
#include "common/files/directory.h"

namespace noisefloor::hash_folders {

namespace {

constexpr size_t kFolderDigits = 2;

}  // namespace

std::string FolderOf(const std::string& root, int number) {
  return fmt::format("{}/{:02x}", root, number);
}

std::string PathOf(const std::string& root, std::string_view sha256) {
  return fmt::format("{}/{}/{}", root, sha256.substr(0, kFolderDigits),
                     sha256.substr(kFolderDigits));
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& root, int number,
                                                 FileSystem& files) {
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      ListFiles(FolderOf(root, number), files));
  std::vector<std::string> found;
  for (const std::string& name : names) {
    std::string sha256 = fmt::format("{:02x}{}", number, name);
    if (IsSha256(sha256)) found.push_back(std::move(sha256));
  }
  return found;
}

absl::Status RemoveLeftovers(const std::string& root, int number, FileSystem& files) {
  const std::string folder = FolderOf(root, number);
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFiles(folder, files));
  for (const std::string& name : names) {
    if (name.find(".aside-") == std::string::npos) continue;
    NF_RETURN_IF_ERROR(files.Remove(folder + "/" + name));
  }
  return absl::OkStatus();
}

}  // namespace noisefloor::hash_folders
