#include "worker/trainer/images/image_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <unordered_map>
#include <utility>

#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "worker/trainer/images/picture.h"
#include "worker/trainer/images/tar_shard.h"

namespace noisefloor::trainer {

namespace {

namespace fs = std::filesystem;

constexpr int kMostDepth = 16;

struct FoundFile {
  std::string path;  // From the folder.
  struct stat about = {};
};

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

bool SameState(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         Nanoseconds(a.st_mtim) == Nanoseconds(b.st_mtim) &&
         Nanoseconds(a.st_ctim) == Nanoseconds(b.st_ctim);
}

absl::Status Walk(const std::string& folder, const std::string& below, int depth,
                  std::vector<FoundFile>& found) {
  const std::string here = below.empty() ? folder : folder + "/" + below;
  std::error_code error;
  fs::directory_iterator it(here, error);
  if (error) return FileError(here, "list", error.value());
  for (; it != fs::directory_iterator(); it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with('.')) continue;
    FoundFile file = {below.empty() ? name : below + "/" + name};
    const std::string path = folder + "/" + file.path;
    if (stat(path.c_str(), &file.about) != 0) return FileError(path, "look at", errno);
    if (S_ISDIR(file.about.st_mode)) {
      if (it->is_symlink(error)) return InvalidInput(path + ": a link to a folder; expected none");
      if (depth == kMostDepth) {
        return InvalidInput(fmt::format("{}: more than {} folders deep", path, kMostDepth));
      }
      NF_RETURN_IF_ERROR(Walk(folder, file.path, depth + 1, found));
    } else if (S_ISREG(file.about.st_mode)) {
      found.push_back(std::move(file));
    }
    if (found.size() > kMostTreeEntries) {
      return InvalidInput(fmt::format("{}: more than {} files", folder, kMostTreeEntries));
    }
  }
  if (error) return FileError(here, "list", error.value());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FoundFile>> FilesBelow(const std::string& folder) {
  std::vector<FoundFile> found;
  NF_RETURN_IF_ERROR(Walk(folder, "", 0, found));
  std::ranges::sort(found, {}, &FoundFile::path);
  return found;
}

bool IsShard(std::string_view path) {
  return path.ends_with(".tar") && path.find('/') == std::string_view::npos;
}

absl::Status CheckOnce(const ImageTree& tree) {
  std::unordered_map<std::string_view, size_t> places;
  places.reserve(tree.entries.size());
  for (size_t i = 0; i < tree.entries.size(); ++i) {
    const auto [at, is_new] = places.emplace(tree.entries[i].path, i);
    if (is_new) continue;
    return InvalidInput(fmt::format("{}: there already as {}", NameOf(tree, tree.entries[i]),
                                    NameOf(tree, tree.entries[at->second])));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned char lead = byte(i);
    const size_t more = lead < 0x80       ? 0
                        : lead >> 5 == 6  ? 1
                        : lead >> 4 == 14 ? 2
                        : lead >> 3 == 30 ? 3
                                          : 4;
    if (more == 4 || more >= text.size() - i) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      if (byte(i + k) >> 6 != 2) return false;
      point = point << 6 | (byte(i + k) & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (point < kLeast[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

absl::Status CheckPath(std::string_view path) {
  if (path.empty()) return InvalidInput("an empty path");
  if (!IsUtf8(path)) return InvalidInput("its name is not UTF-8");
  if (path.starts_with('/')) return InvalidInput("an absolute path; expected one from the folder");
  for (std::string_view rest = path;;) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == "..") {
      return InvalidInput(fmt::format("the path has a part '{}'; expected a name", part));
    }
    if (part.size() == rest.size()) return absl::OkStatus();
    rest.remove_prefix(part.size() + 1);
  }
}

bool IsPictureName(std::string_view path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return false;
  std::string ending(path.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(c | 0x20); });
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

std::string NameOf(const ImageTree& tree, const TreeEntry& entry) {
  if (entry.shard < 0) return tree.folder + "/" + entry.path;
  return fmt::format("{}/{}:{}", tree.folder, tree.shards[static_cast<size_t>(entry.shard)],
                     entry.path);
}

absl::StatusOr<ImageTree> ListImages(const std::string& folder) {
  NF_ASSIGN_OR_RETURN(const std::vector<FoundFile> files, FilesBelow(folder));
  ImageTree tree;
  tree.folder = folder;
  for (const FoundFile& file : files) {
    if (IsShard(file.path)) tree.shards.push_back(file.path);
    if (!IsPictureName(file.path)) continue;
    const absl::Status fine = CheckPath(file.path);
    if (!fine.ok()) return Annotate(fine, folder + "/" + file.path);
    tree.entries.push_back({file.path, -1});
  }
  for (size_t shard = 0; shard < tree.shards.size(); ++shard) {
    const auto take = [&](const std::string& path) {
      tree.entries.push_back({path, static_cast<int32_t>(shard)});
      return tree.entries.size() <= kMostTreeEntries
                 ? absl::OkStatus()
                 : InvalidInput(fmt::format("more than {} pictures", kMostTreeEntries));
    };
    NF_RETURN_IF_ERROR(ListShard(folder + "/" + tree.shards[shard], take));
  }
  NF_RETURN_IF_ERROR(CheckOnce(tree));
  return tree;
}

absl::StatusOr<std::string> ReadUnchanged(const std::string& path,
                                          const std::function<void()>& looked) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return FileError(path, "open", errno);
  const auto read_all = [&]() -> absl::StatusOr<std::string> {
    struct stat before {
    }, after{};
    if (fstat(file, &before) != 0) return FileError(path, "look at", errno);
    if (before.st_size > kMostPictureBytes) {
      return InvalidInput(fmt::format("{}: {} bytes; expected at most {}", path, before.st_size,
                                      kMostPictureBytes));
    }
    if (looked) looked();
    std::string bytes(static_cast<size_t>(before.st_size), '\0');
    size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t count = read(file, bytes.data() + got, bytes.size() - got);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return FileError(path, "read", errno);
      if (count == 0) break;
      got += static_cast<size_t>(count);
    }
    if (fstat(file, &after) != 0) return FileError(path, "look at", errno);
    if (got < bytes.size() || !SameState(before, after)) {
      return MakeError(absl::StatusCode::kDataLoss, path + ": changed while it was read");
    }
    return bytes;
  };
  auto bytes = read_all();
  close(file);
  return bytes;
}

absl::Status ReadImages(const ImageTree& tree, const std::vector<bool>& wanted,
                        const TakeImage& take) {
  size_t place = 0;
  for (; place < tree.entries.size() && tree.entries[place].shard < 0; ++place) {
    if (!wanted[place]) continue;
    NF_ASSIGN_OR_RETURN(std::string bytes, ReadUnchanged(NameOf(tree, tree.entries[place])));
    NF_RETURN_IF_ERROR(take(place, std::move(bytes)));
  }
  for (size_t shard = 0; shard < tree.shards.size(); ++shard) {
    const std::string path = tree.folder + "/" + tree.shards[shard];
    size_t end = place;
    while (end < tree.entries.size() && tree.entries[end].shard == static_cast<int32_t>(shard)) {
      ++end;
    }
    const auto expects = [&](const std::string& entry) {
      return place < end && tree.entries[place].path == entry;
    };
    NF_RETURN_IF_ERROR(ReadShard(
        path, [&](const std::string& entry) { return expects(entry) && wanted[place]; },
        [&](const std::string& entry, std::string bytes) -> absl::Status {
          if (!expects(entry)) {
            return MakeError(absl::StatusCode::kDataLoss, path + ": changed while it was read");
          }
          const size_t at = place++;
          return wanted[at] ? take(at, std::move(bytes)) : absl::OkStatus();
        }));
    if (place != end) {
      return MakeError(absl::StatusCode::kDataLoss, path + ": changed while it was read");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TreeState> StateOfTree(const std::string& folder, std::string_view what) {
  NF_ASSIGN_OR_RETURN(const std::vector<FoundFile> files, FilesBelow(folder));
  char real[PATH_MAX];
  if (realpath(folder.c_str(), real) == nullptr) return FileError(folder, "resolve", errno);
  Sha256 hash;
  hash.Update(fmt::format("noisefloor image source 1\n{}\n{}\n", what, real));
  TreeState state;
  for (const FoundFile& file : files) {
    const struct stat& about = file.about;
    const int64_t content = Nanoseconds(about.st_mtim), anything = Nanoseconds(about.st_ctim);
    hash.Update(fmt::format("{} {} {} {} {} {}\n", file.path, about.st_dev, about.st_ino,
                            about.st_size, content, anything));
    state.newest_unix_ns = std::max({state.newest_unix_ns, content, anything});
  }
  state.key = hash.Hex();
  return state;
}

}  // namespace noisefloor::trainer
