// The checkpoints of one member on disk.
//
//     FOLDER/000000000120-0/state.safetensors   tensors
//                           events.jsonl        what was told until then, a line an event
//                           manifest.json       last: without it there is no checkpoint
//     FOLDER/kept/SHA256                        files that were told of, once for all checkpoints
//
// Every file is written aside, synced and renamed; the manifest names the others with their hashes.
// So at every moment, whatever is lost then, the last checkpoint for which Write answered OK is
// found whole, or a later one. Two are kept.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/files/file_system.h"
#include "worker/trainer/checkpoint/checkpoint.h"
#include "worker/trainer/checkpoint/manifest.h"

namespace noisefloor::trainer {

// One thread at a time. Two processes with the same folder (an attempt that was given up lives on
// somewhere) may take each other's checkpoints away, never make a wrong one.
class CheckpointFolder {
 public:
  // `files` outlives this. `base`: of all members' folders, made when it is missing.
  CheckpointFolder(std::string base, std::string name, CheckpointIdentity identity,
                   FileSystem& files = LocalFileSystem());

  // Makes the folder of all members, if need be. Nothing else is there before the first Write, so
  // that short members leave nothing to remove.
  absl::Status Open();

  struct Found {
    std::optional<Checkpoint> checkpoint;
    std::vector<std::string> notes;  // For people: what is there and cannot be used, and why.
  };
  // The newest that is whole, of this identity and of this format, and that `accept` takes. Tensors
  // of more than `most_tensor_bytes` are not read. Never fails: what cannot be read is a note.
  Found Load(uint64_t most_tensor_bytes,
             const std::function<absl::Status(const Checkpoint&)>& accept);

  // Puts the kept files of a loaded checkpoint into `work_directory`.
  absl::Status Unpack(const Checkpoint& checkpoint, const std::string& work_directory) const;

  // `tensors` are its tensors, `checkpoint.tensors` is not looked at; `checkpoint.files` are read
  // from `work_directory`. On disk when OK; then all but it and the one that this wrote or loaded
  // before is removed. After a failure the earlier ones are as they were.
  absl::Status Write(const Checkpoint& checkpoint, std::string_view tensors,
                     const std::string& work_directory);

  // The member needs none any more. Fine when there is none.
  absl::Status Remove();

  const std::string& base() const { return base_; }

 private:
  absl::StatusOr<Checkpoint> LoadOne(const std::string& name, uint64_t most_tensor_bytes) const;
  void Settle(const std::string& name);
  absl::StatusOr<std::string> ReadChecked(const std::string& path, const FileSum& sum) const;
  absl::StatusOr<std::string> NewFolder(int64_t step);
  absl::Status Keep(const std::vector<KeptFile>& kept, const std::string& work_directory);
  absl::Status WriteInto(const std::string& name, const Checkpoint& checkpoint,
                         std::string_view tensors);
  void Prune(const std::string& newest, const std::vector<KeptFile>& kept);
  void RemoveOne(const std::string& name);

  const std::string base_;
  const std::string folder_;
  const CheckpointIdentity identity_;
  FileSystem& files_;
  std::string last_;  // Name of the one that was written or loaded last; or empty.
  std::vector<KeptFile> last_kept_;
  std::set<std::string> whole_;  // Kept files by hash that this has seen to be whole.
};

}  // namespace noisefloor::trainer
