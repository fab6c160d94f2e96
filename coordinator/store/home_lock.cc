#include "coordinator/store/home_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "common/files/directory.h"
#include "common/files/file_error.h"

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
  return MakeError(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("{}: in use by the coordinator {} (process {})", home, where, holder.process));
}

absl::Status RefuseNetwork(const std::string& home) {
  struct statfs about {};
  if (statfs(home.c_str(), &about) != 0) return FileError(home, "inspect", errno);
  const std::string_view name = NetworkFileSystem(static_cast<uint32_t>(about.f_type));
  if (name.empty()) return absl::OkStatus();
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   fmt::format("{}: lies on a network file system ({}), where SQLite can lose "
                               "data; choose a directory on a local disk",
                               home, name));
}

}  // namespace

// Numbers from statfs(2) and the kernel's linux/magic.h.
std::string_view NetworkFileSystem(uint32_t statfs_type) {
  switch (statfs_type) {
    case 0x6969: return "nfs";
    case 0x517B: return "smb";
    case 0xFF534D42: return "cifs";
    case 0xFE534D42: return "smb2";
    case 0x5346414F: return "afs";
    case 0x00C36400: return "ceph";
    case 0x0BD00BD0: return "lustre";
    case 0x47504653: return "gpfs";
    case 0x19830326: return "beegfs";
    case 0x73757245: return "coda";
    case 0x01161970: return "gfs2";
    case 0x7461636F: return "ocfs2";
    default: return "";
  }
}

absl::StatusOr<HomeLock> HomeLock::Acquire(const std::string& home) {
  NF_RETURN_IF_ERROR(CreateDirectories(home));
  NF_RETURN_IF_ERROR(RefuseNetwork(home));
  const std::string path = LockPath(home);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return FileError(path, "open", errno);
  HomeLock lock(path, file);
  if (!LockExclusively(file)) {
    if (errno == EWOULDBLOCK) return Held(home, ReadHolder(file));
    return FileError(path, "lock", errno);
  }
  NF_RETURN_IF_ERROR(WriteHolder(file, path, ""));
  return lock;
}

HomeLock::~HomeLock() {
  if (file_ >= 0) close(file_);
}

HomeLock::HomeLock(HomeLock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

HomeLock& HomeLock::operator=(HomeLock&& other) noexcept {
  if (this == &other) return *this;
  if (file_ >= 0) close(file_);
  path_ = std::move(other.path_);
  file_ = std::exchange(other.file_, -1);
  return *this;
}

absl::Status HomeLock::SetAddress(std::string_view address) {
  return WriteHolder(file_, path_, address);
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
