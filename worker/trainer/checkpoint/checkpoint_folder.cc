#include "worker/trainer/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "common/files/atomic_file.h"
#include "common/files/directory.h"
#include "common/files/sha256.h"

namespace noisefloor::trainer {

namespace {

constexpr const char* kTensors = "state.safetensors";
constexpr const char* kEvents = "events.jsonl";
constexpr const char* kManifest = "manifest.json";
constexpr const char* kKept = "kept";
constexpr uint64_t kMostManifestBytes = uint64_t{64} << 20;
constexpr uint64_t kMostEventsBytes = uint64_t{1} << 30;
constexpr uint64_t kMostKeptBytes = uint64_t{1} << 34;
constexpr int kMostOfAStep = 10000;

FileSum SumOf(std::string_view content) { return {Sha256Hex(content), content.size()}; }

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

CheckpointFolder::CheckpointFolder(std::string base, std::string name, CheckpointIdentity identity,
                                   FileSystem& files)
    : base_(std::move(base)),
      folder_(base_ + "/" + name),
      identity_(std::move(identity)),
      files_(files) {}

absl::Status CheckpointFolder::Open() {
  NF_RETURN_IF_ERROR(CreateDirectories(base_, files_));
  return files_.SyncFolder(ParentFolder(base_));  // Who made it may have been killed before that.
}

CheckpointFolder::Found CheckpointFolder::Load(
    uint64_t most_tensor_bytes, const std::function<absl::Status(const Checkpoint&)>& accept) {
  Found found;
  const auto entries = files_.List(folder_);
  if (!entries.ok()) {
    if (!absl::IsNotFound(entries.status())) found.notes.push_back(Message(entries.status()));
    return found;
  }
  std::vector<std::string> names;
  for (const FolderEntry& entry : *entries) {
    if (entry.kind == FileKind::kFolder && entry.name != kKept) names.push_back(entry.name);
  }
  std::ranges::sort(names, std::greater<>());  // The newest first: names begin with the step.
  for (const std::string& name : names) {
    auto checkpoint = LoadOne(name, most_tensor_bytes);
    const absl::Status status = checkpoint.ok() ? accept(*checkpoint) : checkpoint.status();
    if (!status.ok()) {
      found.notes.push_back(
          fmt::format("checkpoint {}/{} is not used: {}", folder_, name, Message(status)));
      continue;
    }
    Settle(name);
    last_ = name;
    last_kept_ = checkpoint->files;
    for (const KeptFile& file : checkpoint->files) whole_.insert(file.sha256);
    found.checkpoint = *std::move(checkpoint);
    return found;
  }
  return found;
}

// Its writer may have been killed when all was written and the last folders were not yet synced.
// Somebody has come back for it: others do not take it for stale.
void CheckpointFolder::Settle(const std::string& name) {
  (void)files_.SyncFolder(folder_ + "/" + name);
  (void)files_.SyncFolder(folder_ + "/" + kKept);
  (void)files_.SyncFolder(folder_);
  (void)files_.SyncFolder(base_);
  (void)utimensat(AT_FDCWD, folder_.c_str(), nullptr, 0);  // May be another user's.
}

absl::StatusOr<Checkpoint> CheckpointFolder::LoadOne(const std::string& name,
                                                     uint64_t most_tensor_bytes) const {
  const std::string folder = folder_ + "/" + name;
  NF_ASSIGN_OR_RETURN(const std::string text,
                      ReadFile(folder + "/" + kManifest, kMostManifestBytes, files_));
  NF_ASSIGN_OR_RETURN(Manifest manifest, ManifestFromJson(text, identity_));
  if (manifest.files.size() != 2 || !manifest.files.contains(kTensors) ||
      !manifest.files.contains(kEvents)) {
    return InvalidInput(fmt::format("files: expected {} and {}", kTensors, kEvents));
  }
  const FileSum& tensors = manifest.files[kTensors];
  if (tensors.size_bytes > most_tensor_bytes) {
    return InvalidInput(fmt::format("{}: {} bytes; this training has {}", kTensors,
                                    tensors.size_bytes, most_tensor_bytes));
  }
  const auto too_large = [](const std::string& file, uint64_t bytes, uint64_t most) {
    return InvalidInput(fmt::format("{}: {} bytes; expected at most {}", file, bytes, most));
  };
  const uint64_t events_bytes = manifest.files[kEvents].size_bytes;
  if (events_bytes > kMostEventsBytes) return too_large(kEvents, events_bytes, kMostEventsBytes);
  for (const KeptFile& file : manifest.kept) {
    if (file.size_bytes > kMostKeptBytes) {
      return too_large(file.name, file.size_bytes, kMostKeptBytes);
    }
  }
  Checkpoint checkpoint;
  checkpoint.step = manifest.step;
  checkpoint.facts = std::move(manifest.facts);
  checkpoint.files = std::move(manifest.kept);
  NF_ASSIGN_OR_RETURN(checkpoint.tensors, ReadChecked(folder + "/" + kTensors, tensors));
  NF_ASSIGN_OR_RETURN(const std::string events,
                      ReadChecked(folder + "/" + kEvents, manifest.files[kEvents]));
  checkpoint.told = SplitLines(events);
  for (const KeptFile& file : checkpoint.files) {
    NF_RETURN_IF_ERROR(ReadChecked(fmt::format("{}/{}/{}", folder_, kKept, file.sha256),
                                   {file.sha256, file.size_bytes})
                           .status());
  }
  return checkpoint;
}

absl::StatusOr<std::string> CheckpointFolder::ReadChecked(const std::string& path,
                                                          const FileSum& sum) const {
  NF_ASSIGN_OR_RETURN(std::string content, ReadFile(path, sum.size_bytes, files_));
  if (content.size() == sum.size_bytes && Sha256Hex(content) == sum.sha256) return content;
  return InvalidInput(path + ": it does not have the content that was written");
}

absl::Status CheckpointFolder::Unpack(const Checkpoint& checkpoint,
                                      const std::string& work_directory) const {
  for (const KeptFile& file : checkpoint.files) {
    NF_ASSIGN_OR_RETURN(const std::string content,
                        ReadChecked(fmt::format("{}/{}/{}", folder_, kKept, file.sha256),
                                    {file.sha256, file.size_bytes}));
    NF_RETURN_IF_ERROR(WriteFileAtomically(work_directory + "/" + file.name, content, files_));
  }
  return absl::OkStatus();
}

absl::Status CheckpointFolder::Write(const Checkpoint& checkpoint, std::string_view tensors,
                                     const std::string& work_directory) {
  NF_RETURN_IF_ERROR(files_.MakeFolder(folder_).status());
  NF_RETURN_IF_ERROR(files_.SyncFolder(base_));  // Also one that another process has made just now.
  NF_RETURN_IF_ERROR(Keep(checkpoint.files, work_directory));
  NF_ASSIGN_OR_RETURN(const std::string name, NewFolder(checkpoint.step));
  if (const absl::Status written = WriteInto(name, checkpoint, tensors); !written.ok()) {
    RemoveOne(name);
    return written;
  }
  Prune(name, checkpoint.files);
  last_ = name;
  last_kept_ = checkpoint.files;
  return absl::OkStatus();
}

absl::StatusOr<std::string> CheckpointFolder::NewFolder(int64_t step) {
  for (int i = 0; i < kMostOfAStep; ++i) {
    const std::string name = fmt::format("{:012}-{}", step, i);
    NF_ASSIGN_OR_RETURN(const bool made, files_.MakeFolder(folder_ + "/" + name));
    if (made) return name;
  }
  return MakeError(absl::StatusCode::kResourceExhausted,
                   fmt::format("{}: too many checkpoints of step {}", folder_, step));
}

absl::Status CheckpointFolder::Keep(const std::vector<KeptFile>& kept,
                                    const std::string& work_directory) {
  if (kept.empty()) return absl::OkStatus();
  const std::string folder = folder_ + "/" + kKept;
  NF_RETURN_IF_ERROR(files_.MakeFolder(folder).status());
  for (const KeptFile& file : kept) {
    const std::string to = folder + "/" + file.sha256;
    if (whole_.contains(file.sha256)) {
      // Another process may have taken the folder for stale and removed it.
      const auto about = files_.Inspect(to);
      if (about.ok() && about->size_bytes == file.size_bytes) continue;
    }
    NF_ASSIGN_OR_RETURN(const std::string content,
                        ReadFile(work_directory + "/" + file.name, kMostKeptBytes, files_));
    if (Sha256Hex(content) != file.sha256) {
      return InvalidInput(work_directory + "/" + file.name + ": it is not what was told of");
    }
    NF_RETURN_IF_ERROR(WriteFileAtomically(to, content, files_));
    whole_.insert(file.sha256);
  }
  return files_.SyncFolder(folder_);
}

absl::Status CheckpointFolder::WriteInto(const std::string& name, const Checkpoint& checkpoint,
                                         std::string_view tensors) {
  const std::string folder = folder_ + "/" + name;
  const std::string events = JoinLines(checkpoint.told);
  if (events.size() > kMostEventsBytes) {
    return MakeError(absl::StatusCode::kResourceExhausted, "too many records for a checkpoint");
  }
  Manifest manifest{.identity = identity_,
                    .step = checkpoint.step,
                    .facts = checkpoint.facts,
                    .files = {{kTensors, SumOf(tensors)}, {kEvents, SumOf(events)}},
                    .kept = checkpoint.files};
  NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/" + kTensors, tensors, files_));
  NF_RETURN_IF_ERROR(WriteFileAtomically(folder + "/" + kEvents, events, files_));
  NF_RETURN_IF_ERROR(
      WriteFileAtomically(folder + "/" + kManifest, ManifestToJson(manifest), files_));
  return files_.SyncFolder(folder_);
}

// What it fails to remove only takes room, until the next one is written.
void CheckpointFolder::Prune(const std::string& newest, const std::vector<KeptFile>& kept) {
  const auto entries = files_.List(folder_);
  if (!entries.ok()) return;
  for (const FolderEntry& entry : *entries) {
    if (entry.name != newest && entry.name != last_ && entry.name != kKept) RemoveOne(entry.name);
  }
  std::set<std::string> needed;
  for (const KeptFile& file : kept) needed.insert(file.sha256);
  for (const KeptFile& file : last_kept_) needed.insert(file.sha256);
  const auto files = files_.List(folder_ + "/" + kKept);
  if (!files.ok()) return;
  for (const FolderEntry& entry : *files) {
    if (needed.contains(entry.name)) continue;
    (void)files_.Remove(fmt::format("{}/{}/{}", folder_, kKept, entry.name));
    whole_.erase(entry.name);
  }
}

// The manifest goes first: what is half removed is no checkpoint, rather than a damaged one.
void CheckpointFolder::RemoveOne(const std::string& name) {
  (void)files_.Remove(folder_ + "/" + name + "/" + kManifest);
  (void)files_.RemoveTree(folder_ + "/" + name);
}

absl::Status CheckpointFolder::Remove() { return files_.RemoveTree(folder_); }

}  // namespace noisefloor::trainer
