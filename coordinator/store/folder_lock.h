// A folder that one process at a time may fill: of a backup, of a restoration.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace noisefloor {

// Holds the lock from Take to destruction, or to the process' end. Move-only; one thread.
class FolderLock {
 public:
  // FailedPrecondition when another one holds it: "FOLDER: `else_why`, or it cannot be locked".
  static absl::StatusOr<FolderLock> Take(const std::string& folder, std::string_view else_why);
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~FolderLock();

 private:
  FolderLock() = default;
  int file_ = -1;
};

}  // namespace noisefloor
