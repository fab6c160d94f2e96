// The pictures of a folder, with what lies in its tar shards as if it lay beside them.
//
// A picture is a regular file whose name ends in .jpg, .jpeg or .png, in any case; other files
// are passed over, and so is what begins with '.'. A shard is a file NAME.tar directly in the
// folder; its entries' paths count from the folder. A path is UTF-8, has no empty part, no "." and
// no "..", and is there once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace noisefloor::trainer {

struct TreeEntry {
  std::string path;    // "train/cat/1.jpg"
  int32_t shard = -1;  // Place in ImageTree::shards; -1: a file of its own.
};

struct ImageTree {
  std::string folder;
  std::vector<std::string> shards;  // "train-0.tar", sorted.
  std::vector<TreeEntry> entries;   // Files by path, then the shards', as they lie in them.
};

inline constexpr size_t kMostTreeEntries = 20'000'000;

// Every refusal names the file, an entry of a shard as SHARD:ENTRY. InvalidArgument for a path as
// above, a file that is there twice, a link to a folder, what is no tar, and in a tar for links,
// sparse files and other things that are no plain file or folder; NotFound without the folder;
// PermissionDenied.
absl::StatusOr<ImageTree> ListImages(const std::string& folder);

// Reads the pictures of `tree` whose place is `wanted`, in order. `take` gets the place and the
// bytes. InvalidArgument for a file of more than kMostPictureBytes, DataLoss for one that changed
// while it was read; whatever `take` returns ends the reading.
using TakeImage = std::function<absl::Status(size_t place, std::string bytes)>;
absl::Status ReadImages(const ImageTree& tree, const std::vector<bool>& wanted,
                        const TakeImage& take);

// What messages call an entry: the path of its file, or SHARD:ENTRY.
std::string NameOf(const ImageTree& tree, const TreeEntry& entry);

// Reads one file whole. `looked` is called between opening it and looking at it again: for tests.
absl::StatusOr<std::string> ReadUnchanged(const std::string& path,
                                          const std::function<void()>& looked = {});

// A hash of all that can change in a folder without its content being read: of each file below it
// path, device, number, size and the times of its last change, as in data_cache.h. `what` is hashed
// too. Fails as ListImages does.
struct TreeState {
  std::string key;             // 64 hexadecimal digits.
  int64_t newest_unix_ns = 0;  // The last change of any of them.
};
absl::StatusOr<TreeState> StateOfTree(const std::string& folder, std::string_view what);

// InvalidArgument unless a path is as above.
absl::Status CheckPath(std::string_view path);

bool IsUtf8(std::string_view text);

}  // namespace noisefloor::trainer
