#include "worker/daemon/worker_access.h"

#include "common/access/access_file.h"
#include "common/base/mutex.h"

namespace noisefloor {

namespace {

class TokenFile {
 public:
  TokenFile(std::string path, std::string token)
      : path_(std::move(path)), token_(std::move(token)) {}

  std::string Read() ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::StatusOr<AccessFile> file = ReadAccessFile(path_);
    MutexLock lock(mutex_);
    if (file.ok()) token_ = file->token;
    return token_;
  }

 private:
  const std::string path_;
  Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ChannelAccess>> ReadWorkerAccess(const std::string& path) {
  if (path.empty()) return nullptr;
  NF_ASSIGN_OR_RETURN(AccessFile file, ReadAccessFile(path));
  auto access = std::make_unique<ChannelAccess>();
  access->certificate = std::move(file.certificate);
  access->token_may_wait = true;
  // shared: std::function copies what it holds.
  access->token = [token = std::make_shared<TokenFile>(path, std::move(file.token))] {
    return token->Read();
  };
  return access;
}

}  // namespace noisefloor
