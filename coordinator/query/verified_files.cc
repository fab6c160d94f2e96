#include "coordinator/query/verified_files.h"

#include <sys/stat.h>

namespace noisefloor::query {

VerifiedFiles::Identity VerifiedFiles::IdentityOf(const std::string& path) {
  struct stat about = {};
  if (stat(path.c_str(), &about) != 0) return {};
  return {about.st_dev, about.st_ino, static_cast<uint64_t>(about.st_size), about.st_ctim.tv_sec,
          about.st_ctim.tv_nsec};
}

absl::Status VerifiedFiles::Verify(const BlobStore& blobs, const BlobName& name) {
  // Before it is read: a change while it is read is a change since.
  const Identity found = IdentityOf(blobs.PathOf(name.sha256));
  if (found != Identity{} && std::get<2>(found) == name.size_bytes) {
    MutexLock lock(mutex_);
    const auto known = known_.find(name.sha256);
    if (known != known_.end() && known->second == found) return absl::OkStatus();
  }
  NF_RETURN_IF_ERROR(blobs.Verify(name));
  MutexLock lock(mutex_);
  if (known_.size() >= most_) known_.clear();
  known_[name.sha256] = found;
  return absl::OkStatus();
}

}  // namespace noisefloor::query
