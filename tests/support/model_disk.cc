#include "tests/support/model_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/check.h"
#include "common/files/file_error.h"

namespace noisefloor {

namespace {

constexpr int kRoot = 0;
constexpr size_t kSectorBytes = 512;

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string AboveOf(const std::string& path) {
  return path.substr(0, std::max<size_t>(1, path.rfind('/')));
}

class ModelReadable final : public ReadableFile {
 public:
  ModelReadable(const ModelDisk& disk, int file, std::string path)
      : disk_(disk), file_(file), path_(std::move(path)) {}

  absl::StatusOr<size_t> Read(std::span<char> into) override {
    if (!disk_.has_power()) return FileError(path_, "read", EIO);
    const uint64_t size = disk_.SizeOf(file_);
    const size_t count = std::min<uint64_t>(into.size(), size - std::min(size, offset_));
    NF_RETURN_IF_ERROR(disk_.Read(file_, offset_, into.first(count)));
    offset_ += count;
    return count;
  }

 private:
  const ModelDisk& disk_;
  const int file_;
  const std::string path_;
  uint64_t offset_ = 0;
};

class ModelWritable final : public WritableFile {
 public:
  ModelWritable(ModelDisk& disk, int file, std::string path)
      : disk_(disk), file_(file), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  absl::Status Append(std::string_view bytes) override {
    return disk_.Write(file_, disk_.SizeOf(file_), bytes);
  }
  absl::Status WriteAt(uint64_t offset_bytes, std::string_view bytes) override {
    return disk_.Write(file_, offset_bytes, bytes);
  }
  absl::Status ReadAt(uint64_t offset_bytes, std::span<char> into) const override {
    return disk_.Read(file_, offset_bytes, into);
  }
  absl::Status Truncate(uint64_t size_bytes) override { return disk_.Truncate(file_, size_bytes); }
  absl::Status Sync() override { return disk_.Sync(file_); }

 private:
  ModelDisk& disk_;
  const int file_;
  const std::string path_;
};

}  // namespace

ModelDisk::ModelDisk() { nodes_[kRoot].is_folder = true; }

void ModelDisk::FailAt(int64_t operation, int error_number, bool lasting) {
  fail_at_ = operation;
  fail_error_ = error_number;
  fail_lasting_ = lasting;
}

// --- Failing and losing ---

absl::Status ModelDisk::CheckPower(const std::string& path) const {
  return has_power_ ? absl::OkStatus() : FileError(path, "reach", EIO);
}

absl::Status ModelDisk::Begin(const std::string& what, const std::string& path) {
  NF_RETURN_IF_ERROR(CheckPower(path));
  const int64_t number = operations_++;
  history_.push_back(what + " " + path);
  if (number >= power_lost_at_) has_power_ = false;
  NF_RETURN_IF_ERROR(CheckPower(path));
  const bool fails = number == fail_at_ || (fail_lasting_ && number > fail_at_);
  return fails ? FileError(path, what, fail_error_) : absl::OkStatus();
}

void ModelDisk::Apply(const Change& change, std::string& content) {
  if (!change.bytes) return content.resize(change.offset_bytes);
  const uint64_t end = change.offset_bytes + change.bytes->size();
  if (content.size() < end) content.resize(end);
  content.replace(change.offset_bytes, change.bytes->size(), *change.bytes);
}

void ModelDisk::Apply(const Move& move, Entries& entries) {
  if (!move.gone.empty()) entries.erase(move.gone);
  if (move.node) {
    entries[move.name] = *move.node;
  } else {
    entries.erase(move.name);
  }
}

void ModelDisk::Settle(Node& node, Survival survival, test::Chance& chance) {
  const auto survives = [&] {
    return survival == Survival::kEverything || (survival == Survival::kSome && chance.OneIn(2));
  };
  for (const Change& change : node.changes) {
    if (!change.bytes) {
      if (survives()) Apply(change, node.synced);
      continue;
    }
    for (size_t begin = 0; begin < change.bytes->size(); begin += kSectorBytes) {
      if (!survives()) continue;
      Apply({change.offset_bytes + begin, change.bytes->substr(begin, kSectorBytes)}, node.synced);
    }
  }
  for (const Move& move : node.moves) {
    if (survives()) Apply(move, node.synced_entries);
  }
  node.changes.clear();
  node.moves.clear();
  node.content = node.synced;
  node.entries = node.synced_entries;
}

ModelDisk ModelDisk::AfterKill() const {
  ModelDisk next = *this;
  next.has_power_ = true;
  next.power_lost_at_ = next.fail_at_ = kNever;
  return next;
}

ModelDisk ModelDisk::AfterPowerLoss(Survival survival, uint64_t seed) const {
  ModelDisk next = AfterKill();
  test::Chance chance(seed);
  for (auto& [number, node] : next.nodes_) Settle(node, survival, chance);
  return next;
}

// --- Names ---

std::optional<int> ModelDisk::Find(const std::string& path) const {
  int node = kRoot;
  for (size_t begin = 1; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const auto& entries = nodes_.at(node).entries;
    const auto it = entries.find(std::string_view(path).substr(begin, end - begin));
    if (it == entries.end()) return std::nullopt;
    node = it->second;
    begin = end + 1;
  }
  return node;
}

absl::StatusOr<int> ModelDisk::FindFolder(const std::string& path) const {
  NF_RETURN_IF_ERROR(CheckPower(path));
  const auto node = Find(path);
  if (!node) return FileError(path, "find", ENOENT);
  if (!nodes_.at(*node).is_folder) return FileError(path, "find", ENOTDIR);
  return *node;
}

int ModelDisk::Make(const std::string& path, bool is_folder) {
  nodes_[++last_node_].is_folder = is_folder;
  nodes_[last_node_].path = path;
  return last_node_;
}

void ModelDisk::Do(int folder, Move move) {
  Node& node = nodes_.at(folder);
  Apply(move, node.entries);
  node.moves.push_back(std::move(move));
}

// --- FileSystem ---

absl::StatusOr<FileInfo> ModelDisk::Inspect(const std::string& path) {
  NF_RETURN_IF_ERROR(CheckPower(path));
  const auto node = Find(path);
  if (!node) return FileError(path, "inspect", ENOENT);
  const bool is_folder = nodes_.at(*node).is_folder;
  return FileInfo{is_folder ? FileKind::kFolder : FileKind::kFile, SizeOf(*node)};
}

absl::StatusOr<std::unique_ptr<ReadableFile>> ModelDisk::OpenToRead(const std::string& path) {
  NF_ASSIGN_OR_RETURN(const int file, Open(path, /*create=*/false));
  return std::make_unique<ModelReadable>(*this, file, path);
}

absl::StatusOr<std::vector<FolderEntry>> ModelDisk::List(const std::string& folder) {
  NF_ASSIGN_OR_RETURN(const int node, FindFolder(folder));
  std::vector<FolderEntry> entries;
  for (const auto& [name, entry] : nodes_.at(node).entries) {
    entries.push_back({name, nodes_.at(entry).is_folder ? FileKind::kFolder : FileKind::kFile});
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<WritableFile>> ModelDisk::OpenToAppend(const std::string& path) {
  NF_ASSIGN_OR_RETURN(const int file, Open(path, /*create=*/true));
  return std::make_unique<ModelWritable>(*this, file, path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> ModelDisk::OpenToOverwrite(const std::string& path) {
  return OpenToAppend(path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> ModelDisk::CreateAside(const std::string& path) {
  const std::string aside = fmt::format("{}.aside-{:06}", path, ++asides_);
  NF_ASSIGN_OR_RETURN(const int file, Open(aside, /*create=*/true));
  return std::make_unique<ModelWritable>(*this, file, aside);
}

absl::Status ModelDisk::Rename(const std::string& from, const std::string& to) {
  NF_ASSIGN_OR_RETURN(const int folder, FindFolder(AboveOf(from)));
  NF_CHECK(AboveOf(from) == AboveOf(to));
  NF_RETURN_IF_ERROR(Begin("rename", to));
  const auto node = Find(from);
  if (!node) return FileError(from, "rename", ENOENT);
  Do(folder, {NameOf(to), *node, NameOf(from)});
  return absl::OkStatus();
}

absl::Status ModelDisk::Remove(const std::string& path) {
  NF_RETURN_IF_ERROR(CheckPower(path));
  const auto node = Find(path);
  if (!node) return absl::OkStatus();
  if (!nodes_.at(*node).entries.empty()) return FileError(path, "remove", ENOTEMPTY);
  return RemoveNode(path, *node);
}

absl::Status ModelDisk::RemoveNode(const std::string& path, int node) {
  NF_RETURN_IF_ERROR(Begin("remove", path));
  NF_ASSIGN_OR_RETURN(const int folder, FindFolder(AboveOf(path)));
  Do(folder, {NameOf(path), std::nullopt, ""});
  return absl::OkStatus();
}

// The last name first: a tree may go in any order, and this is one that nobody thinks of.
absl::Status ModelDisk::RemoveTree(const std::string& path) {
  NF_RETURN_IF_ERROR(CheckPower(path));
  const auto node = Find(path);
  if (!node) return absl::OkStatus();
  const Entries entries = nodes_.at(*node).entries;
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    NF_RETURN_IF_ERROR(RemoveTree(path + "/" + it->first));
  }
  return RemoveNode(path, *node);
}

absl::StatusOr<bool> ModelDisk::MakeFolder(const std::string& path) {
  NF_ASSIGN_OR_RETURN(const int folder, FindFolder(AboveOf(path)));
  if (Find(path)) return false;
  NF_RETURN_IF_ERROR(Begin("make folder", path));
  Do(folder, {NameOf(path), Make(path, true), ""});
  return true;
}

absl::Status ModelDisk::SyncFolder(const std::string& path) {
  NF_ASSIGN_OR_RETURN(const int folder, FindFolder(path));
  Node& node = nodes_.at(folder);
  const absl::Status begun = Begin("sync", path);
  if (begun.ok()) {
    for (const Move& move : node.moves) Apply(move, node.synced_entries);
  }
  if (begun.ok() || (has_power_ && drops_entries_)) node.moves.clear();
  return begun;
}

// --- Files by number ---

absl::StatusOr<int> ModelDisk::Open(const std::string& path, bool create) {
  NF_ASSIGN_OR_RETURN(const int folder, FindFolder(AboveOf(path)));
  if (const auto node = Find(path)) {
    if (nodes_.at(*node).is_folder) return FileError(path, "read", EISDIR);
    return *node;
  }
  if (!create) return FileError(path, "open", ENOENT);
  NF_RETURN_IF_ERROR(Begin("create", path));
  const int made = Make(path, false);
  Do(folder, {NameOf(path), made, ""});
  return made;
}

absl::Status ModelDisk::Read(int file, uint64_t offset_bytes, std::span<char> into) const {
  const Node& node = nodes_.at(file);
  NF_RETURN_IF_ERROR(CheckPower(node.path));
  if (into.empty()) return absl::OkStatus();
  if (offset_bytes + into.size() > node.content.size()) return FileError(node.path, "read", EIO);
  std::copy_n(node.content.data() + offset_bytes, into.size(), into.data());
  return absl::OkStatus();
}

// One that fails may have written a part.
absl::Status ModelDisk::Write(int file, uint64_t offset_bytes, std::string_view bytes) {
  Node& node = nodes_.at(file);
  const absl::Status begun = Begin("write", node.path);
  if (!has_power_) return begun;
  const size_t count = begun.ok() ? bytes.size() : bytes.size() / 2;
  Change change{offset_bytes, std::string(bytes.substr(0, count))};
  Apply(change, node.content);
  node.changes.push_back(std::move(change));
  return begun;
}

absl::Status ModelDisk::Truncate(int file, uint64_t size_bytes) {
  Node& node = nodes_.at(file);
  NF_RETURN_IF_ERROR(Begin("truncate", node.path));
  Change change{size_bytes, std::nullopt};
  Apply(change, node.content);
  node.changes.push_back(std::move(change));
  return absl::OkStatus();
}

absl::Status ModelDisk::Sync(int file) {
  Node& node = nodes_.at(file);
  const absl::Status begun = Begin("sync", node.path);
  if (begun.ok()) {
    for (const Change& change : node.changes) Apply(change, node.synced);
  }
  if (has_power_) node.changes.clear();
  return begun;
}

}  // namespace noisefloor
