// 256 folders of files that are named by a hash: ROOT/ab/cdef.... Internal to this folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor::hash_folders {

inline constexpr int kFolders = 256;

std::string FolderOf(const std::string& root, int number);
// `sha256`: 64 lower-case hexadecimal digits.
std::string PathOf(const std::string& root, std::string_view sha256);

// The hashes of what lies in one of them, sorted; what is on its way in is left out.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& root, int number,
                                                 FileSystem& files);
// Removes what writers left aside.
absl::Status RemoveLeftovers(const std::string& root, int number, FileSystem& files);

}  // namespace noisefloor::hash_folders
