// Folders: make, list, remove. Any thread; nothing throws.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

// With all that are missing above it. What it makes is on disk when it returns OK. Fine when it is
// there already.
absl::Status CreateDirectories(const std::string& path, FileSystem& files = LocalFileSystem());

// Names (not paths) of the regular files in `folder`, sorted; not of those below.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder,
                                                   FileSystem& files = LocalFileSystem());

// Fine when there is none.
absl::Status RemoveFile(const std::string& path);

// The folder and all below it; symbolic links are removed, not followed. Fine when there is none.
absl::Status RemoveTree(const std::string& path);

// True for an existing file or folder, whoever may read it.
bool PathExists(const std::string& path);

}  // namespace noisefloor
