#include "common/cache/tree_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <set>

#include "common/cache/upkeep.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

constexpr size_t kPiece = size_t{1} << 20;
// As an atomic file does: left to the end, the sync would hold up every other one of the disk.
constexpr uint64_t kSyncEveryBytes = uint64_t{8} << 20;

absl::Status Aborted(const std::string& path) {
  return MakeError(absl::StatusCode::kAborted, path + ": another process brings it");
}

// Whether `path` still leads to what was opened: it may have been renamed or removed since.
bool IsStill(const std::string& path, int opened) {
  struct stat there {};
  struct stat ours {};
  return stat(path.c_str(), &there) == 0 && fstat(opened, &ours) == 0 &&
         there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

// The folder with a lock of that kind (LOCK_SH, LOCK_EX), or NotFound; Aborted where another
// process has one that does not go with it, or the folder went just now.
absl::StatusOr<int> OpenLocked(const std::string& path, int kind) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return FileError(path, "open", errno);
  const bool locked = flock(folder, kind | LOCK_NB) == 0;
  // On a file system without locks nobody could ever bring anything.
  const bool none = !locked && errno != EWOULDBLOCK;
  if ((locked || none) && IsStill(path, folder)) return folder;
  close(folder);
  return Aborted(path);
}

// One file of a part: goes on where it ends.
class PartFile {
 public:
  static absl::StatusOr<PartFile> Open(FileSystem& files, const std::string& path,
                                       const TreeFile& about) {
    NF_RETURN_IF_ERROR(CreateDirectories(ParentFolder(path), files));
    NF_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, files.OpenToOverwrite(path));
    NF_ASSIGN_OR_RETURN(const FileInfo found, files.Inspect(path));
    PartFile part(std::move(file), about);
    if (found.size_bytes > about.size_bytes) {
      NF_RETURN_IF_ERROR(part.Empty());
    } else {
      NF_RETURN_IF_ERROR(part.HashWhatIsThere(found.size_bytes));
    }
    return part;
  }

  uint64_t here() const { return here_; }

  absl::Status Take(std::string_view bytes) {
    if (bytes.size() > about_.size_bytes - here_) return OtherContent("is longer");
    NF_RETURN_IF_ERROR(file_->WriteAt(here_, bytes));
    hash_.Update(bytes);
    here_ += bytes.size();
    unsynced_ += bytes.size();
    if (unsynced_ < kSyncEveryBytes) return absl::OkStatus();
    unsynced_ = 0;
    return SyncOrEmpty();
  }

  // DataLoss unless the content is that of the tree; then nothing of it is left.
  absl::Status Finish() {
    if (here_ < about_.size_bytes) {
      return MakeError(
          absl::StatusCode::kUnavailable,
          fmt::format("{} broke off after {} of {} bytes", about_.path, here_, about_.size_bytes));
    }
    if (hash_.Hex() != about_.sha256) return OtherContent("has another hash");
    if (about_.executable && chmod(file_->path().c_str(), 0755) != 0) {
      return FileError(file_->path(), "make executable", errno);
    }
    return SyncOrEmpty();
  }

  absl::Status Empty() {
    here_ = 0;
    (void)hash_.Digest();
    NF_RETURN_IF_ERROR(file_->Truncate(0));
    return file_->Sync();
  }

 private:
  // After a sync that failed the pages may be clean and the disk without them: a second one would
  // say that all is well. So nothing of the file is kept.
  absl::Status SyncOrEmpty() {
    const absl::Status synced = file_->Sync();
    if (!synced.ok()) (void)Empty();
    return synced;
  }

  PartFile(std::unique_ptr<WritableFile> file, const TreeFile& about)
      : file_(std::move(file)), about_(about) {}

  absl::Status HashWhatIsThere(uint64_t size) {
    std::string piece(std::min<uint64_t>(size, kPiece), '\0');
    while (here_ < size) {
      piece.resize(std::min<uint64_t>(size - here_, kPiece));
      NF_RETURN_IF_ERROR(file_->ReadAt(here_, piece));
      hash_.Update(piece);
      here_ += piece.size();
    }
    return absl::OkStatus();
  }

  absl::Status OtherContent(std::string_view how) {
    NF_RETURN_IF_ERROR(Empty());
    return MakeError(absl::StatusCode::kDataLoss,
                     fmt::format("what came of {} {} than it should", about_.path, how));
  }

  std::unique_ptr<WritableFile> file_;
  TreeFile about_;
  Sha256 hash_;  // Of what is there.
  uint64_t here_ = 0;
  uint64_t unsynced_ = 0;
};

// Brings all files of a tree into its part.
class Bringer {
 public:
  Bringer(FileSystem& files, std::string part, TreeSource& source, const TreeWatch& watch)
      : files_(files), part_(std::move(part)), source_(source), watch_(watch) {}

  absl::Status Bring(const Tree& tree) {
    std::set<std::string> folders = {part_};
    for (const TreeFile& file : tree.files) {
      NF_RETURN_IF_ERROR(BringFile(file));
      before_ += file.size_bytes;
      // All that lead to it: whoever made one of them may have died before it was synced.
      for (std::string at = ParentFolder(part_ + "/" + file.path); at.size() > part_.size();
           at = ParentFolder(at)) {
        folders.insert(at);
      }
    }
    for (const std::string& folder : folders) NF_RETURN_IF_ERROR(files_.SyncFolder(folder));
    return absl::OkStatus();
  }

 private:
  absl::Status BringFile(const TreeFile& file) {
    NF_ASSIGN_OR_RETURN(PartFile part, PartFile::Open(files_, part_ + "/" + file.path, file));
    const bool had_some = part.here() > 0;
    const absl::Status brought = GoOn(file, part);
    if (!absl::IsDataLoss(brought) || !had_some) return brought;
    // What was here before, or what came now: only a whole new file tells.
    if (watch_.note) watch_.note(Message(brought) + "; it is brought anew");
    return GoOn(file, part);
  }

  absl::Status GoOn(const TreeFile& file, PartFile& part) {
    NF_RETURN_IF_ERROR(Tell(part));
    if (part.here() < file.size_bytes) {
      const auto take = [&](std::string_view bytes) -> absl::Status {
        NF_RETURN_IF_ERROR(part.Take(bytes));
        return Tell(part);
      };
      NF_RETURN_IF_ERROR(source_.Read(file, part.here(), take));
    }
    return part.Finish();
  }

  absl::Status Tell(const PartFile& part) const {
    if (!watch_.progress || watch_.progress(before_ + part.here())) return absl::OkStatus();
    return MakeError(absl::StatusCode::kCancelled, "nobody waits for it any more");
  }

  FileSystem& files_;
  const std::string part_;
  TreeSource& source_;
  const TreeWatch& watch_;
  uint64_t before_ = 0;  // Bytes of the files that are whole.
};

}  // namespace

TreeUse::~TreeUse() {
  if (lock_ >= 0) close(lock_);
}

TreeUse::TreeUse(TreeUse&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

TreeCache::TreeCache(std::string folder, uint64_t limit_bytes, FileSystem& files)
    : folder_(std::move(folder)),
      trees_(folder_ + "/" + std::string(kCacheTrees)),
      limit_bytes_(limit_bytes),
      files_(files) {}

absl::StatusOr<TreeUse> TreeCache::Find(const std::string& identity) const {
  const std::string path = PathOf(identity);
  NF_ASSIGN_OR_RETURN(const int folder, OpenLocked(path, LOCK_SH));
  (void)futimens(folder, nullptr);  // Its last use; may be another user's.
  return TreeUse(path, folder);
}

absl::StatusOr<TreeUse> TreeCache::LockPart(const std::string& identity) const {
  const std::string part = PartOf(identity);
  NF_RETURN_IF_ERROR(CreateDirectories(part, files_));
  const absl::StatusOr<int> folder = OpenLocked(part, LOCK_EX);
  if (absl::IsNotFound(folder.status())) return Aborted(part);  // It became whole just now.
  NF_RETURN_IF_ERROR(folder.status());
  (void)futimens(*folder, nullptr);
  return TreeUse(part, *folder);
}

absl::StatusOr<TreeUse> TreeCache::Bring(const Tree& tree, TreeSource& source,
                                         const TreeWatch& watch) const {
  NF_RETURN_IF_ERROR(CheckTree(tree));
  const std::string identity = IdentityOf(tree);
  if (auto found = Find(identity); !absl::IsNotFound(found.status())) return found;
  if (BytesOf(tree) > limit_bytes_) {
    return MakeError(absl::StatusCode::kOutOfRange,
                     fmt::format("it has {} bytes, and the cache {} may hold {} (--cache-limit)",
                                 BytesOf(tree), folder_, limit_bytes_));
  }
  const std::string part = PartOf(identity);
  {
    NF_ASSIGN_OR_RETURN(const TreeUse lock, LockPart(identity));
    if (PathExists(PathOf(identity))) {
      (void)files_.RemoveTree(part);  // It became whole between our two looks.
    } else {
      const uint64_t here = std::min(BytesHere(identity), BytesOf(tree));
      MakeRoom(folder_, limit_bytes_, BytesOf(tree) - here, part);
      NF_RETURN_IF_ERROR(Bringer(files_, part, source, watch).Bring(tree));
      NF_RETURN_IF_ERROR(files_.Rename(part, PathOf(identity)));
      NF_RETURN_IF_ERROR(files_.SyncFolder(trees_));
      // From an exclusive lock to a shared one: whoever takes it in between is noticed.
      (void)flock(lock.lock_, LOCK_SH);
    }
    if (auto found = Find(identity); found.ok()) return found;
  }
  return Aborted(PathOf(identity));
}

void TreeCache::WaitForBringer(const std::string& identity) const {
  const int part = open(PartOf(identity).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (part < 0) return;
  while (flock(part, LOCK_SH) != 0 && errno == EINTR) {
  }
  close(part);
}

uint64_t TreeCache::BytesHere(const std::string& identity) const {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(PartOf(identity), error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code gone;
    const uint64_t size = it->is_regular_file(gone) ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

}  // namespace noisefloor
