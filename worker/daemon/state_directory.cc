#include "worker/daemon/state_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "fmt/format.h"

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"

namespace noisefloor {

namespace {

absl::StatusOr<uint64_t> ReadOrDrawIdentity(const std::string& path) {
  if (!PathExists(path)) {
    uint64_t drawn = 0;
    while (drawn == 0) {
      if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) {
        return FileError(path, "draw a random number for", errno);
      }
    }
    NF_RETURN_IF_ERROR(WriteFileAtomically(path, std::to_string(drawn)));
    return drawn;
  }
  NF_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 100));
  uint64_t identity = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), identity);
  if (error != std::errc() || end != text.data() + text.size() || identity == 0) {
    return InvalidInput(fmt::format("{}: expected a number, got '{}'", path, text));
  }
  return identity;
}

}  // namespace

absl::StatusOr<StateDirectory> StateDirectory::Open(const std::string& path,
                                                    const std::function<bool()>& wait) {
  NF_RETURN_IF_ERROR(CreateDirectories(path));
  std::error_code error;
  const std::string absolute = std::filesystem::canonical(path, error).string();
  if (error) return FileError(path, "resolve", error.value());
  const std::string lock_path = absolute + "/lock";
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return FileError(lock_path, "open", errno);
  StateDirectory state(absolute, lock);
  while (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (wait()) continue;
    return MakeError(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{}: another worker uses this state directory; expected one of "
                                 "its own, with --state",
                                 absolute));
  }
  NF_ASSIGN_OR_RETURN(state.identity_, ReadOrDrawIdentity(absolute + "/identity"));
  return state;
}

StateDirectory::~StateDirectory() {
  if (lock_ >= 0) close(lock_);
}

StateDirectory::StateDirectory(StateDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      identity_(other.identity_) {}

}  // namespace noisefloor
