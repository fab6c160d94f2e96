#include "common/cache/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "common/base/sha256_text.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

constexpr size_t kMostPathBytes = 1000;
constexpr uint64_t kMostBytes = uint64_t{1} << 50;

bool IsPart(std::string_view part) {
  return !part.empty() && part != "." && part != ".." && part.size() <= 255;
}

bool StaysBelow(std::string_view path) {
  if (path.size() > kMostPathBytes) return false;
  if (path.find_first_of(std::string_view("\0\n", 2)) != std::string_view::npos) return false;
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    if (!IsPart(path.substr(0, end))) return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

absl::Status CheckFile(const TreeFile& file) {
  if (!StaysBelow(file.path)) {
    return InvalidInput(fmt::format("tree: '{}' is no path below its folder", file.path));
  }
  if (!IsSha256(file.sha256)) {
    return InvalidInput(fmt::format("tree: {}: its hash is none: '{}'", file.path, file.sha256));
  }
  return absl::OkStatus();
}

// A file where another one has its folder; empty: there is none.
std::string_view FileAsFolder(const std::vector<TreeFile>& files) {
  std::set<std::string_view> paths;
  for (const TreeFile& file : files) paths.insert(file.path);
  for (const TreeFile& file : files) {
    const std::string_view path = file.path;
    for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      if (paths.contains(path.substr(0, at))) return path.substr(0, at);
    }
  }
  return "";
}

}  // namespace

std::string IdentityOf(const Tree& tree) {
  Sha256 hash;
  hash.Update("noisefloor tree 1\n");
  for (const TreeFile& file : tree.files) {
    hash.Update(fmt::format("{} {} {} {}\n", file.sha256, file.size_bytes,
                            file.executable ? "x" : "-", file.path));
  }
  return hash.Hex();
}

uint64_t BytesOf(const Tree& tree) {
  uint64_t bytes = 0;
  for (const TreeFile& file : tree.files) bytes += file.size_bytes;
  return bytes;
}

absl::Status CheckTree(const Tree& tree) {
  if (tree.files.empty() || tree.files.size() > kMostTreeFiles) {
    return InvalidInput(
        fmt::format("tree: expected 1 to {} files, got {}", kMostTreeFiles, tree.files.size()));
  }
  uint64_t left = kMostBytes;
  for (size_t i = 0; i < tree.files.size(); ++i) {
    const TreeFile& file = tree.files[i];
    NF_RETURN_IF_ERROR(CheckFile(file));
    if (i > 0 && tree.files[i - 1].path >= file.path) {
      return InvalidInput(fmt::format("tree: {} after {}: expected each path once, in order",
                                      file.path, tree.files[i - 1].path));
    }
    if (file.size_bytes >= left) return InvalidInput("tree: expected less than 2^50 bytes");
    left -= file.size_bytes;
  }
  const std::string_view both = FileAsFolder(tree.files);
  if (!both.empty()) return InvalidInput(fmt::format("tree: {} is a file and a folder", both));
  return absl::OkStatus();
}

}  // namespace noisefloor
