#include "coordinator/cli/caches.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "common/cache/upkeep.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"

namespace noisefloor::cli {

namespace {

namespace fs = std::filesystem;

// As noisefloor-worker names it when nobody else does.
constexpr char kUsualState[] = "noisefloor-worker-state";

void AddFolder(const std::string& path, std::vector<std::string>& folders) {
  std::error_code error;
  const std::string real = fs::canonical(path, error).string();
  if (error || !fs::is_directory(real, error)) return;
  if (std::ranges::find(folders, real) == folders.end()) folders.push_back(real);
}

// The lock of a state directory, which its worker holds for as long as it lives.
class StateLock {
 public:
  explicit StateLock(const std::string& state)
      : file_(open((state + "/lock").c_str(), O_RDWR | O_CLOEXEC)),
        held_(file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) == 0) {}
  ~StateLock() {
    if (file_ >= 0) close(file_);
  }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

  bool held() const { return held_; }

 private:
  const int file_;
  const bool held_;
};

// Of all that lies in it; links are not followed.
struct FolderFacts {
  uint64_t bytes = 0;
  absl::Time newest = absl::InfinitePast();
};

absl::StatusOr<FolderFacts> FactsOf(const std::string& folder) {
  FolderFacts facts;
  const auto take = [&facts](const std::string& path) -> absl::Status {
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0) return FileError(path, "look at", errno);
    facts.newest = std::max(facts.newest, absl::TimeFromTimespec(about.st_mtim));
    if (S_ISREG(about.st_mode)) facts.bytes += static_cast<uint64_t>(about.st_size);
    return absl::OkStatus();
  };
  NF_RETURN_IF_ERROR(take(folder));
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    NF_RETURN_IF_ERROR(take(it->path().string()));
  }
  if (error) return FileError(folder, "list", error.value());
  return facts;
}

absl::Status LookAtCached(const std::string& cache, absl::Time before, bool remove, CacheUse& use) {
  NF_ASSIGN_OR_RETURN(const std::vector<Cached> all, ListCached(cache));
  for (const Cached& one : all) {
    const bool old = one.last_use < before;
    // One that is to go is asked by its removal: nothing comes in between.
    const bool used = old && remove ? !RemoveUnused(one.path) : IsInUse(one.path);
    CachedUse& kind = one.is_tree ? use.trees : use.sets;
    DiskShare& share = used ? kind.in_use : old ? kind.old : kind.young;
    share.Add(one.bytes);
  }
  return absl::OkStatus();
}

bool IsLease(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

// As worker/daemon/spool.h lays them out.
absl::Status LookAtAttempts(const std::string& state, absl::Time before, bool remove,
                            CacheUse& use) {
  const StateLock lock(state);
  const std::string spool = state + "/spool";
  if (!lock.held() || !PathExists(spool)) return absl::OkStatus();
  NF_ASSIGN_OR_RETURN(const std::vector<FolderEntry> entries, LocalFileSystem().List(spool));
  for (const FolderEntry& entry : entries) {
    if (entry.kind != FileKind::kFolder || !IsLease(entry.name)) continue;
    const std::string folder = spool + "/" + entry.name;
    NF_ASSIGN_OR_RETURN(const FolderFacts facts, FactsOf(folder));
    if (PathExists(folder + "/result")) {
      use.attempts_waiting.Add(facts.bytes);
    } else if (facts.newest >= before) {
      use.attempts_young.Add(facts.bytes);
    } else {
      if (remove) NF_RETURN_IF_ERROR(RemoveTree(folder));
      use.attempts_old.Add(facts.bytes);
    }
  }
  return absl::OkStatus();
}

}  // namespace

CachePlaces FindCachePlaces(const Context& context, const std::vector<std::string>& states,
                            const std::vector<std::string>& caches) {
  CachePlaces places;
  for (const std::string& state : states) AddFolder(state, places.states);
  if (states.empty()) {
    AddFolder(context.options.home + "/worker", places.states);
    AddFolder(kUsualState, places.states);
  }
  for (const std::string& cache : caches) AddFolder(cache, places.caches);
  if (!context.default_cache.empty()) AddFolder(context.default_cache, places.caches);
  for (const std::string& state : places.states) AddFolder(state + "/cache", places.caches);
  return places;
}

absl::StatusOr<CacheUse> LookAtCaches(const CachePlaces& places, absl::Time before, bool remove) {
  CacheUse use;
  for (const std::string& cache : places.caches) {
    NF_RETURN_IF_ERROR(LookAtCached(cache, before, remove, use));
    if (remove) RemoveCacheOrphans(cache, before);
  }
  for (const std::string& state : places.states) {
    NF_RETURN_IF_ERROR(LookAtAttempts(state, before, remove, use));
  }
  return use;
}

}  // namespace noisefloor::cli
