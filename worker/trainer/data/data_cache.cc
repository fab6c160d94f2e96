#include "worker/trainer/data/data_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/sha256_text.h"
#include "common/cache/upkeep.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/mapped_file.h"
#include "common/files/sha256.h"
#include "worker/trainer/data/canonical_file.h"

namespace noisefloor::trainer {

namespace {

// An open file of the cache; while it is open nobody removes the file for want of room.
class Used {
 public:
  static absl::StatusOr<Used> Open(const std::string& path) {
    Used used(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (used.file_ < 0) return FileError(path, "open", errno);
    // Without the lock (a file system that has none) the file may go, but what is mapped stays.
    (void)flock(used.file_, LOCK_SH | LOCK_NB);
    (void)futimens(used.file_, nullptr);  // Its last use; may be another user's.
    NF_ASSIGN_OR_RETURN(used.mapped_,
                        MappedFile::Open(fmt::format("/proc/self/fd/{}", used.file_)));
    return used;
  }
  ~Used() {
    if (file_ >= 0) close(file_);
  }
  Used(Used&& other) noexcept
      : file_(std::exchange(other.file_, -1)), mapped_(std::move(other.mapped_)) {}
  Used& operator=(Used&&) = delete;

  std::span<const std::byte> bytes() const { return mapped_->bytes(); }

 private:
  explicit Used(int file) : file_(file) {}

  int file_;
  std::optional<MappedFile> mapped_;
};

}  // namespace

absl::StatusOr<FolderState> StateOf(const KnownDataset& known, const std::string& folder) {
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, LocalFileSystem().List(folder));
  char real[PATH_MAX];
  if (realpath(folder.c_str(), real) == nullptr) return FileError(folder, "resolve", errno);
  std::string text = fmt::format("noisefloor source 1\n{} {} {} {} {} {} {}\n{}\n", known.name,
                                 known.classes, known.channels, known.height, known.width,
                                 known.train_examples, known.test_examples, real);
  FolderState state;
  state.newest = absl::InfinitePast();
  for (const FolderEntry& entry : entries) {
    const std::string& name = entry.name;
    const std::string path = folder + "/" + name;
    struct stat about {};  // Of what a link leads to: that is what is read.
    if (stat(path.c_str(), &about) != 0) {
      if (entry.kind == FileKind::kOther) continue;  // A link to nothing.
      return FileError(path, "look at", errno);
    }
    if (!S_ISREG(about.st_mode)) continue;
    text += fmt::format("{} {} {} {} {} {}\n", name, about.st_dev, about.st_ino, about.st_size,
                        absl::ToUnixNanos(absl::TimeFromTimespec(about.st_mtim)),
                        absl::ToUnixNanos(absl::TimeFromTimespec(about.st_ctim)));
    state.newest = std::max(state.newest, NewestTime(about));
  }
  state.key = Sha256Hex(text);
  return state;
}

std::optional<std::string> DataCache::IdentityOf(const FolderState& state) const {
  const auto text = ReadFile(PathOf(state.key + std::string(kCacheSource)), 100);
  if (!text.ok()) return std::nullopt;
  const std::string identity = text->substr(0, text->find('\n'));
  if (!IsSha256(identity) || *text != identity + "\n") return std::nullopt;
  return identity;
}

std::string DataCache::PathOfSet(const std::string& identity) const {
  return PathOf(identity + std::string(kCacheData));
}

absl::StatusOr<DataCache::Mapped> DataCache::Map(const std::string& identity) const {
  NF_ASSIGN_OR_RETURN(Used used, Used::Open(PathOfSet(identity)));
  // shared: the training and the test images look into one mapping.
  const auto holder = std::make_shared<const Used>(std::move(used));
  return Mapped{holder->bytes(), holder};
}

absl::StatusOr<Dataset> DataCache::Open(const KnownDataset& known, const std::string& identity,
                                        ExampleLimits limits) const {
  NF_ASSIGN_OR_RETURN(const Mapped mapped, Map(identity));
  auto dataset = FromCanonicalFile(mapped.bytes, mapped.holder, known, identity, limits);
  if (!dataset.ok()) return Annotate(dataset.status(), PathOfSet(identity));
  return dataset;
}

absl::Status DataCache::Keep(const std::string& identity, std::string_view file) const {
  NF_RETURN_IF_ERROR(CreateDirectories(folder_));
  NF_RETURN_IF_ERROR(WriteFileAtomically(PathOfSet(identity), file));
  TidyAfter(identity);
  return absl::OkStatus();
}

void DataCache::TidyAfter(const std::string& identity) const {
  const std::string path = PathOfSet(identity);
  MakeRoom(folder_, limit_bytes_, 0, path);
  // The time of the file system: what was just written is of now.
  struct stat about {};
  if (stat(path.c_str(), &about) == 0) RemoveCacheOrphans(folder_, NewestTime(about));
}

absl::Status DataCache::Remember(const FolderState& state, const std::string& identity,
                                 absl::Time now) const {
  if (now - state.newest < kTooYoung) return absl::OkStatus();
  return WriteFileAtomically(PathOf(state.key + std::string(kCacheSource)), identity + "\n");
}

}  // namespace noisefloor::trainer
