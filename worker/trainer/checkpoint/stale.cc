#include "worker/trainer/checkpoint/stale.h"

#include <sys/stat.h>

#include <algorithm>

#include "common/files/directory.h"
#include "common/files/file_system.h"

namespace noisefloor::trainer {

namespace {

bool IsOfAMember(const FolderEntry& entry) {
  return entry.kind == FileKind::kFolder && entry.name.size() == 32 &&
         entry.name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// When content or entries last changed; the far future where that cannot be told.
absl::Time LastChange(const std::string& path) {
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) return absl::InfiniteFuture();
  return absl::TimeFromTimespec(about.st_mtim);
}

// Of the folder and what is directly in it: writing a checkpoint changes both.
absl::Time LastWrite(const std::string& folder) {
  absl::Time last = LastChange(folder);
  const auto entries = LocalFileSystem().List(folder);
  if (!entries.ok()) return absl::InfiniteFuture();
  for (const FolderEntry& entry : *entries) {
    last = std::max(last, LastChange(folder + "/" + entry.name));
  }
  return last;
}

}  // namespace

std::vector<std::string> RemoveStaleCheckpoints(const std::string& base, absl::Time now,
                                                absl::Duration age) {
  std::vector<std::string> removed;
  const auto entries = LocalFileSystem().List(base);
  if (!entries.ok()) return removed;
  for (const FolderEntry& entry : *entries) {
    if (!IsOfAMember(entry)) continue;
    const std::string folder = base + "/" + entry.name;
    if (now - LastWrite(folder) < age) continue;
    if (RemoveTree(folder).ok()) removed.push_back(folder);
  }
  return removed;
}

}  // namespace noisefloor::trainer
