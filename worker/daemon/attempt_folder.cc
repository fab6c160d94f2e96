#include "worker/daemon/attempt_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "fmt/format.h"

#include "common/files/file_error.h"
#include "common/files/opened_file.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

// A descriptor of our own, closed when it goes.
class Handle {
 public:
  explicit Handle(int file) : file_(file) {}
  ~Handle() {
    if (file_ >= 0) close(file_);
  }
  Handle(Handle&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  int get() const { return file_; }
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

// Why the entry cannot be used; the path itself is wrong, as the trainer made it, or the moment.
absl::Status Refusal(const std::string& path, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG: return InvalidInput("there is no such file");
    case ELOOP: return InvalidInput("reached through a link");
    case EACCES: return InvalidInput("not readable");
    default: return FileError(path, "open", error_number);
  }
}

// One step down, never through a link; `type` is what must be there.
absl::StatusOr<Handle> Step(int folder, const std::string& name, mode_t type,
                            const std::string& path) {
  struct stat about {};
  if (fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return Refusal(path, errno);
  if (S_ISLNK(about.st_mode)) return Refusal(path, ELOOP);
  if ((about.st_mode & S_IFMT) != type) {
    return type == S_IFREG ? InvalidInput("not a file") : Refusal(path, ENOTDIR);
  }
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC;
  // O_NONBLOCK: what was a file just now may be a pipe that nobody writes to.
  Handle next(openat(folder, name.c_str(), flags | (type == S_IFREG ? O_NONBLOCK : O_DIRECTORY)));
  if (next.get() < 0) return Refusal(path, errno);
  if (fstat(next.get(), &about) != 0) return FileError(path, "inspect", errno);
  if ((about.st_mode & S_IFMT) != type) return InvalidInput("not a file");
  return next;
}

absl::StatusOr<std::string> HashOf(ReadableFile& file) {
  Sha256 hash;
  std::vector<char> buffer(size_t{1} << 18);
  while (true) {
    NF_ASSIGN_OR_RETURN(const size_t count, file.Read(buffer));
    hash.Update(std::string_view(buffer.data(), count));
    if (count < buffer.size()) return hash.Hex();
  }
}

}  // namespace

absl::StatusOr<AttemptFolder> AttemptFolder::Open(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return FileError(path, "open", errno);
  return AttemptFolder(folder);
}

AttemptFolder::~AttemptFolder() {
  if (folder_ >= 0) close(folder_);
}

AttemptFolder::AttemptFolder(AttemptFolder&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)) {}

absl::StatusOr<FoundFile> AttemptFolder::Find(const std::string& path) const {
  Handle place(-1);
  std::vector<std::string> parts;
  for (const fs::path& part : fs::path(path)) parts.push_back(part.string());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "/" || parts[i] == "..") return InvalidInput("outside of its folder");
    const int folder = i == 0 ? folder_ : place.get();
    const mode_t type = i + 1 == parts.size() ? S_IFREG : S_IFDIR;
    NF_ASSIGN_OR_RETURN(place, Step(folder, parts[i], type, path));
  }
  struct stat about {};
  if (fstat(place.get(), &about) != 0) return FileError(path, "inspect", errno);
  const auto size_bytes = static_cast<uint64_t>(about.st_size);
  return FoundFile{std::make_unique<OpenedFile>(place.Release(), path), size_bytes};
}

absl::Status CheckArtifact(const AttemptFolder& folder, const Artifact& artifact) {
  const auto wrong = [&](std::string_view what) {
    return InvalidInput(fmt::format("artifact {} ({}): {}", artifact.kind, artifact.path, what));
  };
  absl::StatusOr<FoundFile> found = folder.Find(fmt::format("{}/{}", kWorkName, artifact.path));
  const bool is_wrong = found.status().code() == absl::StatusCode::kInvalidArgument;
  if (is_wrong) return wrong(Message(found.status()));
  NF_RETURN_IF_ERROR(found.status());
  if (found->size_bytes != artifact.size) {
    return wrong(
        fmt::format("{} bytes, and the trainer said {}", found->size_bytes, artifact.size));
  }
  NF_ASSIGN_OR_RETURN(const std::string sha256, HashOf(*found->file));
  if (sha256 == artifact.sha256) return absl::OkStatus();
  return wrong(fmt::format("SHA-256 {}, and the trainer said {}", sha256, artifact.sha256));
}

Artifact DescribeLog(const AttemptFolder& folder) {
  Artifact log{"log", kLogName, "", 0};
  const auto found = folder.Find(kLogName);
  if (!found.ok() || found->size_bytes == 0) return log;
  auto sha256 = HashOf(*found->file);
  if (!sha256.ok()) return log;
  log.sha256 = *std::move(sha256);
  log.size = found->size_bytes;
  return log;
}

}  // namespace noisefloor
