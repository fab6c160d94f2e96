#include "common/files/file_system.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/files/file_error.h"
#include "common/files/opened_file.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

// mkostemp makes files that only the owner can read; ours are as readable as any other.
mode_t OrdinaryMode() {
  static const mode_t mask = [] {
    const mode_t current = umask(0);
    umask(current);
    return current;
  }();
  return 0666 & ~mask;
}

FileKind KindOf(fs::file_type type) {
  if (type == fs::file_type::regular) return FileKind::kFile;
  return type == fs::file_type::directory ? FileKind::kFolder : FileKind::kOther;
}

class LocalWritable final : public WritableFile {
 public:
  // `shown` is what failures call it.
  LocalWritable(int file, std::string path, std::string shown)
      : file_(file), path_(std::move(path)), shown_(std::move(shown)) {}
  ~LocalWritable() override { close(file_); }

  const std::string& path() const override { return path_; }

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count = write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FileError(shown_, "write", errno);
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return absl::OkStatus();
  }

  absl::Status WriteAt(uint64_t offset_bytes, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t count =
          pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FileError(shown_, "write", errno);
      bytes.remove_prefix(static_cast<size_t>(count));
      offset_bytes += static_cast<uint64_t>(count);
    }
    return absl::OkStatus();
  }

  absl::Status ReadAt(uint64_t offset_bytes, std::span<char> into) const override {
    while (!into.empty()) {
      const ssize_t count =
          pread(file_, into.data(), into.size(), static_cast<off_t>(offset_bytes));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return FileError(shown_, "read", count < 0 ? errno : EIO);
      into = into.subspan(static_cast<size_t>(count));
      offset_bytes += static_cast<uint64_t>(count);
    }
    return absl::OkStatus();
  }

  absl::Status Truncate(uint64_t size_bytes) override {
    if (ftruncate(file_, static_cast<off_t>(size_bytes)) == 0) return absl::OkStatus();
    return FileError(shown_, "truncate", errno);
  }

  absl::Status Sync() override {
    if (fdatasync(file_) == 0) return absl::OkStatus();
    return FileError(shown_, "sync", errno);
  }

  absl::Status TakeRoom(uint64_t size_bytes) override {
    const int failed = posix_fallocate(file_, 0, static_cast<off_t>(size_bytes));
    return failed == 0 ? absl::OkStatus() : FileError(shown_, "make room in", failed);
  }

  void StartSync() override { (void)sync_file_range(file_, 0, 0, SYNC_FILE_RANGE_WRITE); }

 private:
  const int file_;
  const std::string path_;
  const std::string shown_;
};

class LocalFiles final : public FileSystem {
 public:
  absl::StatusOr<FileInfo> Inspect(const std::string& path) override {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return FileError(path, "inspect", errno);
    const FileKind kind = S_ISREG(about.st_mode)   ? FileKind::kFile
                          : S_ISDIR(about.st_mode) ? FileKind::kFolder
                                                   : FileKind::kOther;
    return FileInfo{kind, static_cast<uint64_t>(about.st_size)};
  }

  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenToRead(const std::string& path) override {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // Of a pipe at once.
    if (file < 0) return FileError(path, "open", errno);
    return std::make_unique<OpenedFile>(file, path);
  }

  absl::StatusOr<std::vector<FolderEntry>> List(const std::string& folder) override {
    std::error_code error;
    std::vector<FolderEntry> entries;
    fs::directory_iterator it(folder, error);
    while (!error && it != fs::directory_iterator()) {
      std::error_code vanished;  // A file that went away meanwhile is not in the list.
      const fs::file_status status = it->symlink_status(vanished);
      if (!vanished && status.type() != fs::file_type::not_found) {
        entries.push_back({it->path().filename().string(), KindOf(status.type())});
      }
      it.increment(error);
    }
    if (error) return FileError(folder, "list", error.value());
    std::ranges::sort(entries, {}, &FolderEntry::name);
    return entries;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToAppend(const std::string& path) override {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return FileError(path, "open", errno);
    return std::make_unique<LocalWritable>(file, path, path);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> OpenToOverwrite(const std::string& path) override {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return FileError(path, "open", errno);
    return std::make_unique<LocalWritable>(file, path, path);
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> CreateAside(const std::string& path) override {
    std::string aside = path + ".aside-XXXXXX";
    const int file = mkostemp(aside.data(), O_CLOEXEC);
    if (file < 0) return FileError(path, "create", errno);
    auto writable = std::make_unique<LocalWritable>(file, std::move(aside), path);
    if (fchmod(file, OrdinaryMode()) == 0) return writable;
    const int failed = errno;
    unlink(writable->path().c_str());
    return FileError(path, "create", failed);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return FileError(to, "rename", errno);
  }

  absl::Status Remove(const std::string& path) override {
    std::error_code error;
    fs::remove(path, error);
    return error ? FileError(path, "remove", error.value()) : absl::OkStatus();
  }

  absl::Status RemoveTree(const std::string& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    return error ? FileError(path, "remove", error.value()) : absl::OkStatus();
  }

  absl::StatusOr<bool> MakeFolder(const std::string& path) override {
    if (mkdir(path.c_str(), 0777) == 0) return true;
    if (errno == EEXIST) return false;
    return FileError(path, "create folder", errno);
  }

  absl::Status SyncFolder(const std::string& path) override {
    const int handle = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0 && errno == EACCES) return absl::OkStatus();  // Nobody but its owner can.
    if (handle < 0) return FileError(path, "open", errno);
    const int failed = fsync(handle) == 0 ? 0 : errno;
    close(handle);
    // Some network file systems cannot sync a folder; there is nothing better to do there.
    if (failed != 0 && failed != EINVAL) return FileError(path, "sync", failed);
    return absl::OkStatus();
  }
};

}  // namespace

FileSystem& LocalFileSystem() {
  static LocalFiles files;
  return files;
}

std::string ParentFolder(const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder.push_back('.');
  return folder;
}

}  // namespace noisefloor
