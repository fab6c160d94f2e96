#include "worker/trainer/data/cache_upkeep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "worker/trainer/data/data_cache.h"

namespace noisefloor::trainer {

namespace {

constexpr std::string_view kAside = ".aside-";  // What a writer that was killed left: common/files.
constexpr absl::Duration kForgotten = absl::Hours(1);

bool IsOrphan(const std::string& folder, const std::string& name) {
  if (name.find(kAside) != std::string::npos) return true;
  if (!name.ends_with(kCacheSource)) return false;
  const auto identity = ReadFile(folder + "/" + name, 100);
  if (!identity.ok()) return true;
  const std::string set = identity->substr(0, identity->find('\n'));
  return !PathExists(folder + "/" + set + std::string(kCacheData));
}

}  // namespace

absl::StatusOr<std::vector<CachedSet>> ListCachedSets(const std::string& folder) {
  const auto names = ListFiles(folder);
  if (absl::IsNotFound(names.status())) return std::vector<CachedSet>();
  NF_RETURN_IF_ERROR(names.status());
  std::vector<CachedSet> sets;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    struct stat about {};
    if (!name.ends_with(kCacheData) || stat(path.c_str(), &about) != 0) continue;
    sets.push_back(
        {path, static_cast<uint64_t>(about.st_size), absl::TimeFromTimespec(about.st_mtim)});
  }
  std::ranges::sort(sets, {}, &CachedSet::last_use);
  return sets;
}

bool IsSetInUse(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool used = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return used;
}

bool RemoveUnusedSet(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;
  const bool unused = flock(file, LOCK_EX | LOCK_NB) == 0;
  const bool removed = unused && unlink(path.c_str()) == 0;
  close(file);
  return removed;
}

void RemoveCacheOrphans(const std::string& folder, absl::Time now) {
  const auto names = ListFiles(folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    struct stat about {};
    if (stat(path.c_str(), &about) != 0 || now - NewestTime(about) < kForgotten) continue;
    if (IsOrphan(folder, name)) (void)RemoveFile(path);
  }
}

}  // namespace noisefloor::trainer
