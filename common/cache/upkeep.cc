#include "common/cache/upkeep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAside = ".aside-";  // What a writer that was killed left: common/files.
constexpr absl::Duration kForgotten = absl::Hours(1);

bool IsOrphan(const std::string& folder, const std::string& name) {
  if (name.find(kAside) != std::string::npos) return true;
  const bool leads_to_tree = name.ends_with(kCacheStack);
  if (!leads_to_tree && !name.ends_with(kCacheSource)) return false;
  const auto identity = ReadFile(folder + "/" + name, 100);
  if (!identity.ok()) return true;
  const std::string of = identity->substr(0, identity->find('\n'));
  const std::string tree = fmt::format("{}/{}/{}", folder, kCacheTrees, of);
  return !PathExists(leads_to_tree ? tree : folder + "/" + of + std::string(kCacheData));
}

// Of the files below a folder; what goes meanwhile counts nothing.
uint64_t BytesBelow(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code gone;
    const bool file = it->is_regular_file(gone) && !it->is_symlink(gone);
    const uint64_t size = file ? it->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

void AddIfThere(const std::string& path, bool is_tree, std::vector<Cached>& all) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0 || S_ISDIR(about.st_mode) != is_tree) return;
  const uint64_t bytes = is_tree ? BytesBelow(path) : static_cast<uint64_t>(about.st_size);
  all.push_back({path, bytes, absl::TimeFromTimespec(about.st_mtim), is_tree});
}

// A tree is taken out of the way first, so that nobody finds a part of it.
bool RemoveLocked(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return errno == ENOENT;
  if (!S_ISDIR(about.st_mode)) return unlink(path.c_str()) == 0;
  const std::string gone = path + std::string(kAside) + "gone";
  if (!RemoveTree(gone).ok() || rename(path.c_str(), gone.c_str()) != 0) return false;
  return RemoveTree(gone).ok();
}

}  // namespace

absl::Time NewestTime(const struct stat& about) {
  return std::max(absl::TimeFromTimespec(about.st_mtim), absl::TimeFromTimespec(about.st_ctim));
}

absl::StatusOr<std::vector<Cached>> ListCached(const std::string& folder) {
  std::vector<Cached> all;
  const auto names = ListFiles(folder);
  if (absl::IsNotFound(names.status())) return all;
  NF_RETURN_IF_ERROR(names.status());
  for (const std::string& name : *names) {
    if (name.ends_with(kCacheData)) AddIfThere(folder + "/" + name, /*is_tree=*/false, all);
  }
  const std::string trees = folder + "/" + std::string(kCacheTrees);
  if (PathExists(trees)) {
    NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, LocalFileSystem().List(trees));
    for (const FolderEntry& entry : entries) {
      AddIfThere(trees + "/" + entry.name, /*is_tree=*/true, all);
    }
  }
  std::ranges::sort(all, {}, &Cached::last_use);
  return all;
}

bool IsInUse(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool used = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return used;
}

bool RemoveUnused(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;
  const bool unused = flock(file, LOCK_EX | LOCK_NB) == 0;
  const bool removed = unused && RemoveLocked(path);
  close(file);
  return removed;
}

void MakeRoom(const std::string& folder, uint64_t limit_bytes, uint64_t more_bytes,
              const std::string& kept) {
  const auto all = ListCached(folder);
  if (!all.ok()) return;
  uint64_t total = more_bytes;
  for (const Cached& one : *all) total += one.bytes;
  for (const Cached& one : *all) {
    if (total <= limit_bytes) break;
    if (one.path != kept && RemoveUnused(one.path)) total -= one.bytes;
  }
}

void RemoveCacheOrphans(const std::string& folder, absl::Time now) {
  const auto names = ListFiles(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || now - NewestTime(about) < kForgotten) continue;
    if (name.ends_with(kCacheReading)) {
      (void)RemoveUnused(path);  // Some sets take hours to read.
    } else if (IsOrphan(folder, name)) {
      (void)RemoveFile(path);
    }
  }
}

}  // namespace noisefloor
