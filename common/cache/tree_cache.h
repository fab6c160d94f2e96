// Trees in the cache folder of a machine, each brought there once for all processes that want it:
// trees/IDENTITY, and trees/IDENTITY.part while it comes.
//
// A tree is at its place only whole, synced and with the content that its identity says. Until
// then it grows in its part, which whoever brings it holds locked (exclusive; the lock dies with
// its holder): others come again later. What has come stays when its bringer dies, and the next one
// goes on behind the last byte; what it finds is hashed as well, so that a part that was damaged
// meanwhile is brought anew, never believed. Content is written and synced through
// common/files/file_system.h; the locks are the machine's own. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/cache/tree.h"
#include "common/files/file_system.h"

namespace noisefloor {

// A tree of the cache, which stays there while this lives. Move-only.
class TreeUse {
 public:
  ~TreeUse();
  TreeUse(TreeUse&& other) noexcept;
  TreeUse& operator=(TreeUse&&) = delete;

  const std::string& path() const { return path_; }

 private:
  friend class TreeCache;
  TreeUse(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_;  // The folder itself, locked.
};

// Where a tree comes from.
class TreeSource {
 public:
  using Take = std::function<absl::Status(std::string_view bytes)>;

  virtual ~TreeSource() = default;
  // All bytes of a file from there on, in order, in pieces of any size; ends with what `take`
  // fails with. OK after the last one.
  virtual absl::Status Read(const TreeFile& file, uint64_t offset_bytes, const Take& take) = 0;
};

// Told while a tree comes.
struct TreeWatch {
  // How much of it is here. False ends the bringing with Cancelled. May be empty.
  std::function<bool(uint64_t bytes_here)> progress = nullptr;
  // For the log: what was found damaged and is brought anew. May be empty.
  std::function<void(const std::string& what)> note = nullptr;
};

class TreeCache {
 public:
  // `folder` is made when something comes. `files` outlives the cache.
  TreeCache(std::string folder, uint64_t limit_bytes, FileSystem& files = LocalFileSystem());

  const std::string& folder() const { return folder_; }

  // NotFound when it is not here.
  absl::StatusOr<TreeUse> Find(const std::string& identity) const;

  // The tree, brought from the source unless it is here; makes room for it first. What has come
  // stays after a failure, for the next call.
  // Aborted: another process, or another thread, brings it at this moment.
  // InvalidArgument: it is no tree. OutOfRange: it is larger than the limit, which may be another
  // elsewhere. ResourceExhausted: the disk is full.
  // DataLoss: the source gave another content than the tree has, from its first byte on; nothing of
  // that file is kept. What the source fails with, and what the disk fails with.
  absl::StatusOr<TreeUse> Bring(const Tree& tree, TreeSource& source, const TreeWatch& watch) const;

  // Returns when no other process brings it at this moment; it may have been brought, or not.
  void WaitForBringer(const std::string& identity) const;

  // How much of it has come so far, whoever brings it; 0 when nothing has.
  uint64_t BytesHere(const std::string& identity) const;

 private:
  std::string PathOf(const std::string& identity) const { return trees_ + "/" + identity; }
  std::string PartOf(const std::string& identity) const { return PathOf(identity) + ".part"; }
  absl::StatusOr<TreeUse> LockPart(const std::string& identity) const;

  const std::string folder_;
  const std::string trees_;
  const uint64_t limit_bytes_;
  FileSystem& files_;
};

}  // namespace noisefloor
