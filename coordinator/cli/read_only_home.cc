#include "coordinator/cli/read_only_home.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>
#include <system_error>

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCopied[] = {"noisefloor.db", "noisefloor.db-wal"};
constexpr std::string_view kLinked = "blobs";

absl::Status Failure(const fs::path& from, const std::error_code& error) {
  return MakeError(absl::StatusCode::kUnavailable,
                   from.string() + ": cannot be copied to be read: " + error.message());
}

absl::Status Copy(const fs::path& home, const fs::path& copy) {
  std::error_code error;
  for (const std::string_view name : kCopied) {
    if (!fs::exists(home / name, error)) continue;
    fs::copy_file(home / name, copy / name, error);
    if (error) return Failure(home / name, error);
    fs::permissions(copy / name, fs::perms::owner_write, fs::perm_options::add, error);
    if (error) return Failure(home / name, error);
  }
  fs::create_directory_symlink(fs::absolute(home, error) / kLinked, copy / kLinked, error);
  return error ? Failure(home / kLinked, error) : absl::OkStatus();
}

}  // namespace

absl::Status CopyToRead(const std::string& home, const std::string& copy) {
  const int folder = open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool locked = folder >= 0 && flock(folder, LOCK_SH | LOCK_NB) == 0;
  absl::Status copied =
      locked ? Copy(home, copy)
             : MakeError(absl::StatusCode::kFailedPrecondition,
                         home + ": in use by a coordinator; name it with --coordinator");
  if (folder >= 0) close(folder);
  return copied;
}

}  // namespace noisefloor::cli
