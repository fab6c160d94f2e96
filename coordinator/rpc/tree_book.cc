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
#include "common/cache/folder.h"
#include "common/files/file_error.h"
#include "common/files/sha256.h"
#include "common/rpc/channel.h"
#include "common/trainer_protocol/data_layout.h"
#include "common/trainer_protocol/datasets.h"
#include "coordinator/store/blob_store.h"

namespace noisefloor {

namespace {

constexpr std::string_view kWeightsKey = "weights/";

// Of a regular file.
absl::StatusOr<struct stat> LookAt(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return FileError(path, "look at", errno);
  if (S_ISREG(about.st_mode)) return about;
  return MakeError(absl::StatusCode::kNotFound, path + ": it is no file");
}

bool IsFile(const std::string& path) { return LookAt(path).ok(); }

bool IsFolder(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

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

absl::Status CheckTreeName(std::string_view what, std::string_view name) {
  if (IsName(name) && name[0] != '.') return absl::OkStatus();
  return InvalidInput(fmt::format("{}: expected {}, and no '.' first", what, kNameRule));
}

std::string Places(std::string_view kind, const std::vector<std::string>& roots) {
  return roots.empty() ? fmt::format("any {}", kind) : fmt::format("{}", fmt::join(roots, ", "));
}

// The paths of a data set's files, of the first root that has it.
absl::StatusOr<std::vector<std::string>> FindFiles(std::string_view data_set,
                                                   const std::vector<std::string>& roots) {
  const KnownDataset* known = FindDataset(data_set);
  const std::string_view folder = known == nullptr ? data_set : known->folder;
  for (const std::string& root : roots) {
    for (const DataLayout& layout : LayoutsOf(known)) {
      const std::string place = fmt::format("{}/{}", root, folder);
      std::vector<std::string> names = FilesIn(place, layout);
      if (names.empty()) continue;
      for (std::string& name : names) name = place + "/" + name;
      return names;
    }
  }
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("the coordinator has no folder {} with the files of a data set in "
                               "{} (serve --data-root)",
                               folder, Places("data root", roots)));
}

// A folder with a table of pictures in the first root that has one; empty: there is none.
std::string FindImages(std::string_view name, const std::vector<std::string>& roots) {
  if (FindDataset(name) != nullptr) return "";
  for (const std::string& root : roots) {
    const std::string folder = fmt::format("{}/{}", root, name);
    for (const std::string_view table : kImageTables) {
      if (IsFile(fmt::format("{}/{}", folder, table))) return folder;
    }
  }
  return "";
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

// What it was when it was read before holds as long as it looks the same.
absl::Status TreeBook::Hash(const Local& local, TreeFile& file) {
  {
    MutexLock lock(mutex_);
    const auto known = known_.find(local.path);
    if (known != known_.end() && known->second.state == local.state) {
      file.size_bytes = known->second.size_bytes;
      file.sha256 = known->second.sha256;
      return absl::OkStatus();
    }
  }
  NF_ASSIGN_OR_RETURN(file.sha256, Sha256File(local.path));
  NF_ASSIGN_OR_RETURN(const struct stat after, LookAt(local.path));
  file.size_bytes = static_cast<uint64_t>(after.st_size);
  if (StateOf(after) != local.state) {
    return MakeError(absl::StatusCode::kUnavailable,
                     local.path + " changes at this moment; try again");
  }
  MutexLock lock(mutex_);
  known_[local.path] = {local.state, file.size_bytes, file.sha256};
  return absl::OkStatus();
}

absl::StatusOr<Tree> TreeBook::Offer(std::string key, Tree tree, std::vector<Local> files) {
  for (size_t i = 0; i < files.size(); ++i) NF_RETURN_IF_ERROR(Hash(files[i], tree.files[i]));
  auto offered = std::make_shared<Offered>(
      Offered{.identity = IdentityOf(tree), .tree = std::move(tree), .files = std::move(files)});
  MutexLock lock(mutex_);
  Put(key, offered);
  return offered->tree;
}

void TreeBook::Put(const std::string& key, std::shared_ptr<const Offered> offered) {
  const bool is_new = !offered_.contains(key);
  if (!is_new) Drop(key);
  keys_.emplace(offered->identity, key);
  offered_[key] = std::move(offered);
  if (!is_new || !key.starts_with(kWeightsKey)) return;
  weights_.push_back(key);
  if (weights_.size() <= kMostWeights) return;
  known_.erase(offered_.at(weights_.front())->files.front().path);
  Drop(weights_.front());
  weights_.pop_front();
}

void TreeBook::Drop(const std::string& key) {
  const auto dropped = offered_.find(key);
  const auto [first, last] = keys_.equal_range(dropped->second->identity);
  keys_.erase(std::find_if(first, last, [&](const auto& of) { return of.second == key; }));
  offered_.erase(dropped);
}

absl::StatusOr<Tree> TreeBook::DescribeDataSet(std::string_view name) {
  NF_RETURN_IF_ERROR(CheckTreeName("data_set", name));
  if (const std::string folder = FindImages(name, roots_.data_sets); !folder.empty()) {
    return DescribeFolder(fmt::format("data_set/{}", name), folder, fmt::format("{}/", name));
  }
  NF_ASSIGN_OR_RETURN(const std::vector<std::string> paths, FindFiles(name, roots_.data_sets));
  Tree tree;
  std::vector<Local> files;
  for (const std::string& path : paths) {
    NF_ASSIGN_OR_RETURN(const struct stat about, LookAt(path));
    files.push_back({path, StateOf(about)});
    const size_t file = path.rfind('/') + 1;
    const size_t folder = path.rfind('/', file - 2) + 1;
    tree.files.emplace_back().path = path.substr(folder);
  }
  return Offer(fmt::format("data_set/{}", name), std::move(tree), std::move(files));
}

absl::StatusOr<Tree> TreeBook::DescribeFolder(std::string key, const std::string& folder,
                                              const std::string& before) {
  NF_ASSIGN_OR_RETURN(std::vector<FolderFile> found, ListFolder(folder));
  Tree tree;
  std::vector<Local> files;
  for (FolderFile& file : found) {
    files.push_back({folder + "/" + file.file.path, std::move(file.state)});
    file.file.path.insert(0, before);
    tree.files.push_back(std::move(file.file));
  }
  if (files.empty()) return tree;
  return Offer(std::move(key), std::move(tree), std::move(files));
}

absl::StatusOr<Tree> TreeBook::DescribeStack(std::string_view name) {
  NF_RETURN_IF_ERROR(CheckTreeName("stack", name));
  for (const std::string& root : roots_.stacks) {
    const std::string folder = fmt::format("{}/{}", root, name);
    if (!IsFolder(folder)) continue;
    NF_ASSIGN_OR_RETURN(Tree tree, DescribeFolder(fmt::format("stack/{}", name), folder, ""));
    if (!tree.files.empty()) return tree;
  }
  return MakeError(absl::StatusCode::kNotFound,
                   fmt::format("the coordinator has no folder {} with a stack in {} "
                               "(serve --stack-root)",
                               name, Places("stack root", roots_.stacks)));
}

absl::StatusOr<Tree> TreeBook::DescribeWeights(const std::string& sha256) {
  NF_RETURN_IF_ERROR(Annotate(CheckSha256(sha256), "weights_sha256"));
  const absl::Status none =
      MakeError(absl::StatusCode::kNotFound,
                fmt::format("the coordinator has no weights {} that are to be evaluated", sha256));
  if (!roots_.weights) return none;
  NF_ASSIGN_OR_RETURN(const std::string path, roots_.weights(sha256));
  const absl::StatusOr<struct stat> about = LookAt(path);
  if (!about.ok()) return absl::IsNotFound(about.status()) ? none : about.status();
  Tree tree;
  tree.files.emplace_back().path = kWeightsFile;
  NF_ASSIGN_OR_RETURN(tree, Offer(fmt::format("{}{}", kWeightsKey, sha256), std::move(tree),
                                  {{path, StateOf(*about)}}));
  if (tree.files.front().sha256 == sha256) return tree;
  return MakeError(absl::StatusCode::kDataLoss, path + ": its content is not what was kept");
}

absl::StatusOr<std::unique_ptr<OfferedFile>> TreeBook::Open(std::string_view identity,
                                                            std::string_view path,
                                                            uint64_t offset_bytes) const {
  std::shared_ptr<const Offered> found;  // shared: see offered_.
  {
    MutexLock lock(mutex_);
    const auto key = keys_.find(std::string(identity));
    if (key != keys_.end()) found = offered_.at(key->second);
  }
  const absl::Status changed =
      MakeError(absl::StatusCode::kFailedPrecondition,
                fmt::format("{}: not what was described last; ask again", path.substr(0, 200)));
  if (found == nullptr) return changed;
  const auto file = std::ranges::lower_bound(found->tree.files, path, {}, &TreeFile::path);
  if (file == found->tree.files.end() || file->path != path || offset_bytes > file->size_bytes) {
    return InvalidInput(fmt::format("{}: that tree has no such file, or it ends before byte {}",
                                    path.substr(0, 200), offset_bytes));
  }
  const Local& local = found->files[static_cast<size_t>(file - found->tree.files.begin())];
  const int opened = open(local.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return errno == ENOENT ? changed : FileError(local.path, "open", errno);
  auto reader = std::make_unique<OfferedFile>(opened, local.path, file->size_bytes - offset_bytes);
  struct stat about {};
  if (fstat(opened, &about) != 0) return FileError(local.path, "look at", errno);
  if (StateOf(about) != local.state) return changed;
  if (lseek(opened, static_cast<off_t>(offset_bytes), SEEK_SET) < 0) {
    return FileError(local.path, "seek in", errno);
  }
  return reader;
}

}  // namespace noisefloor
