#include "coordinator/cli/read_only_home.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

// As the store names them.
constexpr std::string_view kDatabase = "noisefloor.db";
constexpr std::string_view kCopied[] = {kDatabase, "noisefloor.db-wal", "noisefloor.step"};
constexpr std::string_view kFiles = "blobs";

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
  fs::create_directory_symlink(fs::absolute(home, error) / kFiles, copy / kFiles, error);
  return error ? Failure(home / kFiles, error) : absl::OkStatus();
}

}  // namespace

absl::Status CheckIsHome(const std::string& path) {
  std::error_code error;
  for (const std::string_view part : {kDatabase, kFiles}) {
    if (fs::exists(fs::path(path) / part, error)) return absl::OkStatus();
  }
  return MakeError(absl::StatusCode::kNotFound, fs::exists(path, error)
                                                    ? path + " is no data directory"
                                                    : "no data directory " + path);
}

absl::StatusOr<std::string> MakeTemporaryHome() {
  const char* parent = std::getenv("TMPDIR");
  std::string path = std::string(parent && *parent ? parent : "/tmp") + "/noisefloor-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return MakeError(absl::StatusCode::kUnavailable, "cannot make a folder like " + path);
  }
  return path;
}

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
