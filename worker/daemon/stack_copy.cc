#include "worker/daemon/stack_copy.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "fmt/format.h"

#include "common/base/sha256_text.h"
#include "common/cache/folder.h"
#include "common/cache/upkeep.h"
#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"

namespace noisefloor {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = size_t{1} << 20;
// A younger change could not be told from a later one: the times of files are coarse.
constexpr absl::Duration kTooYoung = absl::Seconds(2);

// The files of a folder as they look, without a look into them.
struct Look {
  Tree tree;        // Without hashes.
  std::string key;  // Hash of all that a change of the folder changes.
  absl::Time newest = absl::InfinitePast();
};

absl::StatusOr<Look> LookAt(const std::string& folder) {
  NF_ASSIGN_OR_RETURN(std::vector<FolderFile> files, ListFolder(folder));
  Look look;
  std::string text = fmt::format("noisefloor folder 2\n{}\n", folder);
  for (FolderFile& file : files) {
    look.newest = std::max(look.newest, file.newest);
    text += fmt::format("{} {}\n", file.file.path, file.state);
    look.tree.files.push_back(std::move(file.file));
  }
  look.key = Sha256Hex(text);
  return look;
}

// The files of a folder.
class FolderSource final : public TreeSource {
 public:
  explicit FolderSource(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Read(const TreeFile& file, uint64_t offset_bytes, const Take& take) override {
    const std::string path = folder_ + "/" + file.path;
    NF_ASSIGN_OR_RETURN(const auto opened, LocalFileSystem().OpenToRead(path));
    std::string piece(kPiece, '\0');
    uint64_t at = 0;
    while (true) {
      NF_ASSIGN_OR_RETURN(const size_t count, opened->Read(piece));
      const size_t known = std::min<uint64_t>(count, offset_bytes - std::min(at, offset_bytes));
      at += count;
      if (known < count) {
        NF_RETURN_IF_ERROR(take(std::string_view(piece).substr(known, count - known)));
      }
      if (count < piece.size()) return absl::OkStatus();
    }
  }

 private:
  const std::string folder_;
};

std::string IndexOf(const TreeCache& cache, const std::string& key) {
  return fmt::format("{}/{}{}", cache.folder(), key, kCacheStack);
}

// The copy of a folder that looks as it did when it was copied.
std::optional<TreeUse> Known(const TreeCache& cache, const std::string& key) {
  const std::string index = IndexOf(cache, key);
  const auto identity = ReadFile(index, 100);
  if (!identity.ok() || !IsSha256(*identity) || !IsOurs(index)) return std::nullopt;
  absl::StatusOr<TreeUse> use = cache.Find(*identity);
  if (!use.ok() || !IsOurs(use->path())) return std::nullopt;
  return *std::move(use);
}

}  // namespace

bool IsOurs(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0 && about.st_uid == geteuid();
}

absl::Status NotOurs(const TreeUse& use) {
  return MakeError(absl::StatusCode::kPermissionDenied,
                   use.path() + ": somebody else has put it there; its programs are not run");
}

absl::StatusOr<TreeUse> CopyStack(const std::string& folder, const TreeCache& cache, absl::Time now,
                                  const TreeWatch& watch) {
  std::error_code error;
  const std::string real = fs::canonical(folder, error).string();
  if (error) return FileError(folder, "resolve", error.value());
  NF_ASSIGN_OR_RETURN(Look look, LookAt(real));
  if (std::optional<TreeUse> known = Known(cache, look.key)) return *std::move(known);
  for (TreeFile& file : look.tree.files) {
    NF_ASSIGN_OR_RETURN(file.sha256, Sha256File(real + "/" + file.path));
  }
  FolderSource source(real);
  while (true) {
    absl::StatusOr<TreeUse> use = cache.Bring(look.tree, source, watch);
    if (use.ok() && IsOurs(use->path()) && now - look.newest >= kTooYoung) {
      NF_RETURN_IF_ERROR(WriteFileAtomically(IndexOf(cache, look.key), IdentityOf(look.tree)));
    }
    if (use.ok() && !IsOurs(use->path())) return NotOurs(*use);
    if (!absl::IsAborted(use.status())) return use;
    cache.WaitForBringer(IdentityOf(look.tree));
  }
}

Commands FromCopy(Commands commands, const std::string& folder, const std::string& copy) {
  std::error_code error;
  const std::string real = fs::canonical(folder, error).string() + "/";
  for (auto& [stack, words] : commands) {
    if (words.empty()) continue;
    const fs::path program = fs::path(words[0]);
    // Of the program itself a link stays what it is called: its folder says where it lies.
    const std::string lies = fs::canonical(program.parent_path(), error).string();
    if (error || !(lies + "/").starts_with(real)) continue;
    words[0] = copy + "/" + (lies + "/").substr(real.size()) + program.filename().string();
  }
  return commands;
}

}  // namespace noisefloor
