#include "coordinator/store/folder_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace noisefloor {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder, std::string_view else_why) {
  FolderLock lock;
  lock.file_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.file_ >= 0 && flock(lock.file_, LOCK_EX | LOCK_NB) == 0) return lock;
  if (lock.file_ >= 0 && errno == EBADF) {
    // NFS locks only what can be written to, and a folder is not.
    close(lock.file_);
    lock.file_ = open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock.file_ >= 0 && flock(lock.file_, LOCK_EX | LOCK_NB) == 0) return lock;
  }
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{}: {}, or it cannot be locked", folder, else_why));
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace noisefloor
