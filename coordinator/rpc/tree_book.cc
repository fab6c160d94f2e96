#include "coordinator/rpc/tree_book.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"

#include "common/base/names.h"
#include "common/files/directory.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/trainer_protocol/data_layout.h"
#include "common/trainer_protocol/datasets.h"

namespace noisefloor {

namespace {

std::string StateText(const struct stat& about) {
  return fmt::format("{} {} {} {}.{} {}.{}", about.st_dev, about.st_ino, about.st_size,
                     about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_ctim.tv_sec,
                     about.st_ctim.tv_nsec);
}

// Of a regular file.
absl::StatusOr<struct stat> LookAt(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return FileError(path, "look at", errno);
  if (S_ISREG(about.st_mode)) return about;
  return MakeError(absl::StatusCode::kNotFound, path + ": it is no file");
}

bool IsFile(const std::string& path) { return LookAt(path).ok(); }

// The names of a layout's files as they lie in a folder; none unless all are there.
std::vector<std::string> FilesIn(const std::string& folder, const DataLayout& layout) {
  std::vector<std::string> names;
  for (const std::string_view file : layout.files) {
    std::string name(file);
    if (!IsFile(folder + "/" + name) && layout.gzipped) name += ".gz";
    if (!IsFile(folder + "/" + name)) return {};
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<DataLayout> LayoutsOf(const KnownDataset* known) {
  if (known != nullptr) return {LayoutOf(*known)};
  return {DataLayouts().begin(), DataLayouts().end()};
}

absl::Status CheckName(std::string_view data_set) {
  if (IsName(data_set) && data_set[0] != '.') return absl::OkStatus();
  return InvalidInput(fmt::format("data_set: expected {}, and no '.' first", kNameRule));
}

}  // namespace

OfferedFile::~OfferedFile() { close(file_); }

absl::StatusOr<std::string> OfferedFile::Next() {
  std::string piece(std::min<uint64_t>(left_, kPieceBytes), '\0');
  size_t got = 0;
  while (got < piece.size()) {
    const ssize_t count = read(file_, piece.data() + got, piece.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path_, "read", errno);
    if (count == 0) {
      return MakeError(absl::StatusCode::kDataLoss,
                       fmt::format("{} ends {} bytes early", path_, left_ - got));
    }
    got += static_cast<size_t>(count);
  }
  left_ -= got;
  return piece;
}

absl::StatusOr<std::vector<std::string>> TreeBook::FindFiles(std::string_view data_set) const {
  const KnownDataset* known = FindDataset(data_set);
  const std::string_view folder = known == nullptr ? data_set : known->folder;
  for (const std::string& root : roots_) {
    for (const DataLayout& layout : LayoutsOf(known)) {
      const std::string place = fmt::format("{}/{}", root, folder);
      std::vector<std::string> names = FilesIn(place, layout);
      if (names.empty()) continue;
      for (std::string& name : names) name = place + "/" + name;
      return names;
    }
  }
  return MakeError(
      absl::StatusCode::kNotFound,
      fmt::format("the coordinator has no folder {} with the files of a data set in "
                  "{} (serve --data-root)",
                  folder,
                  roots_.empty() ? "any data root" : fmt::format("{}", fmt::join(roots_, ", "))));
}

// What it was when it was described before holds as long as it looks the same.
absl::StatusOr<TreeFile> TreeBook::Hashed(const Local& local) {
  {
    MutexLock lock(mutex_);
    for (const auto& [name, offered] : offered_) {
      for (size_t i = 0; i < offered->files.size(); ++i) {
        const Local& known = offered->files[i];
        if (known.path == local.path && known.state == local.state) return offered->tree.files[i];
      }
    }
  }
  TreeFile file;
  NF_ASSIGN_OR_RETURN(file.sha256, Sha256File(local.path));
  NF_ASSIGN_OR_RETURN(const struct stat after, LookAt(local.path));
  file.size_bytes = static_cast<uint64_t>(after.st_size);
  if (StateText(after) == local.state) return file;
  return MakeError(absl::StatusCode::kUnavailable,
                   local.path + " changes at this moment; try again");
}

absl::StatusOr<Tree> TreeBook::Describe(std::string_view data_set) {
  NF_RETURN_IF_ERROR(CheckName(data_set));
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindFiles(data_set));
  auto offered = std::make_shared<Offered>();
  for (const std::string& path : paths) {
    NF_ASSIGN_OR_RETURN(const struct stat about, LookAt(path));
    offered->files.push_back({path, StateText(about)});
    NF_ASSIGN_OR_RETURN(TreeFile file, Hashed(offered->files.back()));
    const size_t name = path.rfind('/') + 1;
    const size_t folder = path.rfind('/', name - 2) + 1;
    file.path = path.substr(folder);
    offered->tree.files.push_back(std::move(file));
  }
  offered->identity = IdentityOf(offered->tree);
  MutexLock lock(mutex_);
  offered_[std::string(data_set)] = offered;
  return offered->tree;
}

absl::StatusOr<std::unique_ptr<OfferedFile>> TreeBook::Open(std::string_view identity,
                                                            std::string_view path,
                                                            uint64_t offset_bytes) const {
  std::shared_ptr<const Offered> found;  // shared: see offered_.
  {
    MutexLock lock(mutex_);
    for (const auto& [name, offered] : offered_) {
      if (offered->identity == identity) found = offered;
    }
  }
  const absl::Status changed =
      MakeError(absl::StatusCode::kFailedPrecondition,
                fmt::format("{}: not what was described last; ask again", path.substr(0, 200)));
  if (found == nullptr) return changed;
  const auto file = std::ranges::find(found->tree.files, path, &TreeFile::path);
  if (file == found->tree.files.end() || offset_bytes > file->size_bytes) {
    return InvalidInput(fmt::format("{}: that tree has no such file, or it ends before byte {}",
                                    path.substr(0, 200), offset_bytes));
  }
  const Local& local = found->files[static_cast<size_t>(file - found->tree.files.begin())];
  const int opened = open(local.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return errno == ENOENT ? changed : FileError(local.path, "open", errno);
  auto reader = std::make_unique<OfferedFile>(opened, local.path, file->size_bytes - offset_bytes);
  struct stat about {};
  if (fstat(opened, &about) != 0) return FileError(local.path, "look at", errno);
  if (StateText(about) != local.state) return changed;
  if (lseek(opened, static_cast<off_t>(offset_bytes), SEEK_SET) < 0) {
    return FileError(local.path, "seek in", errno);
  }
  return reader;
}

}  // namespace noisefloor
