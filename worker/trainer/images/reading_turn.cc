#include "worker/trainer/images/reading_turn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/cache/upkeep.h"
#include "common/files/directory.h"

namespace noisefloor::trainer {

namespace {
constexpr absl::Duration kBetweenTries = absl::Milliseconds(200);
}  // namespace

ReadingTurn::ReadingTurn(std::string path) : path_(std::move(path)) { Open(); }

void ReadingTurn::Open() {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);  // Another user's.
}

// Removed while it is locked: who had it open meanwhile sees that it has no name any more.
ReadingTurn::~ReadingTurn() {
  if (held_) (void)unlink(path_.c_str());
  if (file_ >= 0) close(file_);
}

bool ReadingTurn::Try() {
  if (file_ < 0) return true;
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK && errno != EINTR;
  struct stat about {};
  held_ = fstat(file_, &about) != 0 || about.st_nlink > 0;
  if (held_) return true;
  close(file_);  // Somebody else may hold the next one of that name.
  Open();
  return false;
}

absl::StatusOr<std::unique_ptr<ReadingTurn>> ReadingTurn::Take(const std::string& folder,
                                                               const std::string& key,
                                                               const GoOn& go_on) {
  (void)CreateDirectories(folder);  // Without it there is no file.
  std::unique_ptr<ReadingTurn> turn(
      new ReadingTurn(fmt::format("{}/{}{}", folder, key, kCacheReading)));
  while (!turn->Try()) {
    turn->waited_ = true;
    NF_RETURN_IF_ERROR(WaitOut(kBetweenTries, go_on));
  }
  return turn;
}

}  // namespace noisefloor::trainer
