// What the coordinator's own folders offer to workers that lack it, as trees: data sets and stacks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/cache/tree.h"

namespace noisefloor {

// A file of a tree, open, read from some byte on. One thread at a time.
class OfferedFile {
 public:
  OfferedFile(int file, std::string path, uint64_t left)
      : file_(file), path_(std::move(path)), left_(left) {}
  ~OfferedFile();
  OfferedFile(const OfferedFile&) = delete;
  OfferedFile& operator=(const OfferedFile&) = delete;

  // At most kPieceBytes; empty at the end. DataLoss when the file is shorter than it was.
  absl::StatusOr<std::string> Next();

 private:
  const int file_;
  const std::string path_;
  uint64_t left_;
};

// Folders whose folders are offered, in the order in which they are searched.
struct TreeRoots {
  std::vector<std::string> data_sets;
  std::vector<std::string> stacks;
  // Where the content of this hash would lie, of weights that some inference evaluates; NotFound:
  // of none. May be empty.
  std::function<absl::StatusOr<std::string>(const std::string& sha256)> weights = nullptr;
};

// Thread-safe. All calls wait for the disk.
class TreeBook {
 public:
  // Weights that are offered at one time. Those before are described anew when they are asked for.
  static constexpr size_t kMostWeights = 4096;

  explicit TreeBook(TreeRoots roots) : roots_(std::move(roots)) {}

  // The data set of the first root that has its folder with all files of a layout that is known; or
  // all files of a folder of that name with a table of pictures (data_layout.h).
  // Reads them whole when they are not those (by number, size and times) of which it knows the
  // hashes. InvalidArgument: no name of a data set. NotFound names every place. Unavailable: a file
  // changes at this moment.
  absl::StatusOr<Tree> DescribeDataSet(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for all files below the stack's folder, of the first root that has it. Paths are those
  // below that folder, so that a copy that a worker made by itself is the same tree.
  absl::StatusOr<Tree> DescribeStack(std::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

  // The weights of that hash, as one file. InvalidArgument: no hash. NotFound: no inference names
  // them, or they are not there any more. DataLoss: their content is another one.
  absl::StatusOr<Tree> DescribeWeights(const std::string& sha256) ABSL_LOCKS_EXCLUDED(mutex_);

  // One of the files that were described, and no other. FailedPrecondition: it has changed since,
  // or there is no such tree. InvalidArgument: the tree has no such file, or it is shorter.
  absl::StatusOr<std::unique_ptr<OfferedFile>> Open(std::string_view identity,
                                                    std::string_view path,
                                                    uint64_t offset_bytes) const
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What tells a file from what it was: path and all that a change of it changes.
  struct Local {
    std::string path;
    std::string state;
  };
  struct Offered {
    std::string identity;
    Tree tree;
    std::vector<Local> files;  // As those of the tree.
  };
  // What a file was when it was read.
  struct Known {
    std::string state;
    uint64_t size_bytes = 0;
    std::string sha256;
  };

  // All files below a folder, whose paths get `before` before them; empty when there are none.
  absl::StatusOr<Tree> DescribeFolder(std::string key, const std::string& folder,
                                      const std::string& before) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Tree> Offer(std::string key, Tree tree, std::vector<Local> files)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Hash(const Local& local, TreeFile& file) ABSL_LOCKS_EXCLUDED(mutex_);
  // In the place of what was offered by that name.
  // shared: see offered_.
  void Put(const std::string& key, std::shared_ptr<const Offered> offered)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TreeRoots roots_;
  mutable Mutex mutex_;
  // By kind and name.
  // shared: with those that read from one while a newer takes its place.
  std::map<std::string, std::shared_ptr<const Offered>> offered_ ABSL_GUARDED_BY(mutex_);
  std::multimap<std::string, std::string> keys_ ABSL_GUARDED_BY(mutex_);  // By identity.
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_);            // By path.
  // Those of weights, of which there may be one for each member of an inference: the oldest first.
  std::deque<std::string> weights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace noisefloor
