// Files that are made of those of attempts and can be made again: HOME/digests/ab/cdef... is of the
// blob of that hash.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/file_system.h"

namespace noisefloor {

// Written aside and renamed, and never synced: after a loss of power one may be missing, or
// damaged, which whoever reads it has to see by a checksum of its own. Any thread; folders are made
// as they are needed. `sha256` are 64 lower-case hexadecimal digits, else InvalidArgument.
class DerivedFiles {
 public:
  // Of a home as it is. `files` outlives it.
  static DerivedFiles At(const std::string& home, FileSystem& files = LocalFileSystem()) {
    return DerivedFiles(home + "/digests", files);
  }

  // NotFound when there is none.
  absl::StatusOr<std::string> Read(std::string_view sha256) const;
  // What was there is replaced.
  absl::Status Keep(std::string_view sha256, std::string_view bytes) const;
  // Fine when there is none.
  absl::Status Remove(std::string_view sha256) const;
  // The hashes of those in one folder of BlobStore::kFolders, sorted; none where there is no
  // folder.
  absl::StatusOr<std::vector<std::string>> NamesIn(int folder) const;
  // Removes what a killed process left aside. Only for the holder of the home's lock.
  absl::Status RemoveLeftovers() const;

 private:
  DerivedFiles(std::string folder, FileSystem& files)
      : folder_(std::move(folder)), files_(&files) {}
  std::string folder_;
  FileSystem* files_;
};

}  // namespace noisefloor
