#include "coordinator/store/home_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "coordinator/store/database.h"
#include "coordinator/store/restore.h"
#include "coordinator/store/step_mark.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

absl::Status Refuse(std::string_view message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message);
}

uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  return error ? 0 : size;
}

bool HasFilesOfAttempts(const std::string& home) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(home + "/blobs", error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error)) return true;
  }
  return false;
}

// What is there of a database that is not.
std::string Remains(const std::string& home) {
  if (SizeOf(DatabasePath(home) + "-wal") > 0) return "its log of changes, noisefloor.db-wal, is";
  if (std::error_code error; fs::exists(fs::path(home) / kRestoringName, error)) {
    return "the mark of a restoration that has not ended, restore-unfinished, is";
  }
  if (std::error_code error; fs::exists(fs::path(home) / kStepMarkName, error)) {
    return "the mark of its last step, noisefloor.step, is";
  }
  if (HasFilesOfAttempts(home)) return "files of attempts in blobs/ are";
  return "";
}

}  // namespace

absl::Status CheckDatabaseFile(const std::string& home) {
  const std::string path = DatabasePath(home);
  struct stat about {};
  const bool found = lstat(path.c_str(), &about) == 0;
  if (found && (!S_ISREG(about.st_mode) || about.st_nlink > 1)) {
    return Refuse(
        fmt::format("{}: expected a file with this one name, got {}: another coordinator "
                    "could open it under another; copy it instead",
                    path,
                    S_ISLNK(about.st_mode)   ? "a symbolic link"
                    : S_ISREG(about.st_mode) ? "one with several"
                                             : "something else"));
  }
  if (found && about.st_size > 0) return absl::OkStatus();
  const std::string remains = Remains(home);
  if (remains.empty()) return absl::OkStatus();
  return Refuse(
      fmt::format("{}: {}, though {} there: put a copy of the database back, or choose "
                  "another directory",
                  path, found ? "empty" : "missing", remains));
}

HomeFiles::HomeFiles(const std::string& home) {
  for (const char* suffix : {"", "-wal", "-shm"})
    files_.push_back({DatabasePath(home) + suffix, {}});
  files_.push_back({home + "/blobs", {}});
  (void)Check();
}

std::optional<HomeFiles::Identity> HomeFiles::Look(const std::string& path, bool& missing) {
  struct stat about {};
  if (stat(path.c_str(), &about) == 0) return Identity{about.st_dev, about.st_ino};
  missing = errno == ENOENT || errno == ENOTDIR;  // Anything else says nothing of the file.
  return std::nullopt;
}

absl::Status HomeFiles::Check() {
  for (File& file : files_) {
    bool missing = false;
    const std::optional<Identity> now = Look(file.path, missing);
    if (!file.found) file.found = now;
    if (!missing && !now) continue;
    if (file.found == now) continue;
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("{}: was {} while a coordinator had it open; nothing can be kept "
                                 "any more",
                                 file.path, missing ? "removed" : "replaced"));
  }
  return absl::OkStatus();
}

}  // namespace noisefloor
