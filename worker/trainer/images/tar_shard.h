// Tar files of pictures, through libarchive: ustar, pax and GNU's; never compressed, as pictures
// are so already.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace noisefloor::trainer {

// A name that ends in .jpg, .jpeg or .png, in any case.
bool IsPictureName(std::string_view path);

// The pictures of a shard, in order, by their paths; "./" before a path is dropped. InvalidArgument
// as SHARD: or SHARD:ENTRY: for what image_tree.h refuses.
absl::Status ListShard(const std::string& shard,
                       const std::function<absl::Status(const std::string& path)>& take);

// The same with their bytes; those of a path that is not `wanted` are passed over and empty.
absl::Status ReadShard(
    const std::string& shard, const std::function<bool(const std::string& path)>& wanted,
    const std::function<absl::Status(const std::string& path, std::string bytes)>& take);

}  // namespace noisefloor::trainer
