#include "coordinator/store/home_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/network_file_system.h"

namespace noisefloor {

namespace {

std::string LockPath(const std::string& home) { return home + "/lock"; }

absl::Status WriteHolder(int file, const std::string& path, std::string_view address) {
  const std::string text = fmt::format("{}\n{}\n", getpid(), address);
  if (ftruncate(file, 0) != 0) return FileError(path, "truncate", errno);
  const ssize_t count = pwrite(file, text.data(), text.size(), 0);
  if (count != static_cast<ssize_t>(text.size())) {
    return FileError(path, "write", count < 0 ? errno : ENOSPC);
  }
  return absl::OkStatus();
}

HomeHolder ReadHolder(int file) {
  std::array<char, 512> buffer{};
  const ssize_t count = pread(file, buffer.data(), buffer.size(), 0);
  const std::string_view text(buffer.data(), count > 0 ? static_cast<size_t>(count) : 0);
  HomeHolder holder;
  const size_t line = text.find('\n');
  if (line == std::string_view::npos) return holder;
  holder.process = std::atoll(std::string(text.substr(0, line)).c_str());
  const std::string_view rest = text.substr(line + 1);
  holder.address = std::string(rest.substr(0, rest.find('\n')));
  return holder;
}

// Holder asks with a shared lock for a moment; that is not a reason to refuse.
bool LockExclusively(int file) {
  for (int trial = 0; trial < 1000; ++trial) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || flock(file, LOCK_SH | LOCK_NB) != 0) return false;
    sched_yield();
  }
  errno = EWOULDBLOCK;
  return false;
}

absl::Status Held(const std::string& home, const HomeHolder& holder) {
  const std::string where =
      holder.address.empty() ? "that serves no address" : "at " + holder.address;
  if (holder.process == 0) {
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     home + ": in use by a coordinator that does not say who it is");
  }
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("{}: in use by the coordinator {} (process {})", home, where, holder.process));
}

absl::Status CannotWrite(const std::string& home, int error_number) {
  return MakeError(
      absl::StatusCode::kPermissionDenied,
      fmt::format("{}: cannot be written to ({}): what is in it can be read, not changed", home,
                  strerror(error_number)));
}

// Whether the path still leads to the open file.
bool IsAt(const std::string& path, int file) {
  struct stat opened {};
  struct stat found {};
  if (fstat(file, &opened) != 0 || stat(path.c_str(), &found) != 0) return false;
  return opened.st_dev == found.st_dev && opened.st_ino == found.st_ino;
}

absl::Status RefuseNetwork(const std::string& home) {
  NF_ASSIGN_OR_RETURN(const std::string name, NetworkFileSystemAt(home));
  if (name.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{}: lies on a network file system ({}), where SQLite can lose "
                               "data; choose a directory on a local disk",
                               home, name));
}

}  // namespace

absl::StatusOr<HomeLock> HomeLock::Acquire(const std::string& home) {
  NF_RETURN_IF_ERROR(CreateDirectories(home));
  NF_RETURN_IF_ERROR(RefuseNetwork(home));
  HomeLock lock(home);
  NF_RETURN_IF_ERROR(lock.LockDirectory());
  NF_RETURN_IF_ERROR(lock.LockFile());
  return lock;
}

absl::Status HomeLock::LockDirectory() {
  directory_ = open(home_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) return FileError(home_, "open", errno);
  if (flock(directory_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return FileError(home_, "lock", errno);
  return Held(home_, Holder(home_).value_or(HomeHolder()));
}

absl::Status HomeLock::LockFile() {
  const std::string path = LockPath(home_);
  if (file_ >= 0) close(file_);
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0 && (errno == EROFS || errno == EACCES)) return CannotWrite(home_, errno);
  if (file_ < 0) return FileError(path, "open", errno);
  if (!LockExclusively(file_)) {
    if (errno == EWOULDBLOCK) return Held(home_, ReadHolder(file_));
    return FileError(path, "lock", errno);
  }
  if (!std::exchange(holds_, true)) was_killed_ = ReadHolder(file_).process != 0;
  return WriteHolder(file_, path, address_);
}

absl::Status HomeLock::Check() const {
  if (IsAt(home_, directory_)) return absl::OkStatus();
  return MakeError(absl::StatusCode::kDataLoss,
                   fmt::format("{}: was removed or replaced while a coordinator had it open; "
                               "nothing can be kept any more",
                               home_));
}

void HomeLock::PutBack() {
  if (!IsAt(LockPath(home_), file_)) (void)LockFile();  // A full disk is said elsewhere.
}

void HomeLock::Close() {
  // Ends by itself, and says so. A disk that refuses costs the next one a look at the sums.
  if (std::exchange(holds_, false)) (void)!ftruncate(file_, 0);
  if (file_ >= 0) close(file_);
  if (directory_ >= 0) close(directory_);
}

HomeLock::~HomeLock() { Close(); }

HomeLock::HomeLock(HomeLock&& other) noexcept
    : home_(std::move(other.home_)),
      address_(std::move(other.address_)),
      was_killed_(other.was_killed_),
      holds_(std::exchange(other.holds_, false)),
      directory_(std::exchange(other.directory_, -1)),
      file_(std::exchange(other.file_, -1)) {}

HomeLock& HomeLock::operator=(HomeLock&& other) noexcept {
  if (this == &other) return *this;
  Close();
  home_ = std::move(other.home_);
  address_ = std::move(other.address_);
  was_killed_ = other.was_killed_;
  holds_ = std::exchange(other.holds_, false);
  directory_ = std::exchange(other.directory_, -1);
  file_ = std::exchange(other.file_, -1);
  return *this;
}

absl::Status HomeLock::SetAddress(std::string_view address) {
  address_ = address;
  return WriteHolder(file_, LockPath(home_), address_);
}

std::optional<HomeHolder> HomeLock::Holder(const std::string& home) {
  const int file = open(LockPath(home).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::optional<HomeHolder> holder;
  if (flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) holder = ReadHolder(file);
  close(file);
  return holder;
}

}  // namespace noisefloor
