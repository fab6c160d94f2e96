// Data sets that were read, checked and ordered once, kept for every trainer of the machine as
// files that are mapped (canonical_file.h): IDENTITY.data. Reading, hashing and ordering CIFAR-10
// takes longer than a short training, and its copies more memory.
//
// Which identity a folder of source files has stands in an index: KEY.source holds the identity
// that was found when the folder was in the state whose hash is KEY. The state is the set's name
// and sizes, the folder's real path and, of every file in it, name, device, number, size and the
// times (ns) of its last change of content and of anything. Any write, also one that puts the
// content's time back, changes the last of these, so the folder is read and hashed again. A folder
// in which anything changed within the last two seconds is not remembered: the times of files are
// too coarse for another write just after the reading. Not detected: content that changes under a
// file system that keeps no such times, or by going around it (the disk written as a device, the
// machine's clock set back to the nanosecond).
//
// Processes may use, fill and empty one folder side by side: files appear whole, by renaming; a
// file that is in use is locked (shared), and is not removed for want of room. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/time/time.h"

#include "common/base/status.h"
#include "worker/trainer/data/dataset.h"

namespace noisefloor::trainer {

struct FolderState {
  std::string key;    // 64 hexadecimal digits.
  absl::Time newest;  // The last change of any of its files.
};

// NotFound without the folder.
absl::StatusOr<FolderState> StateOf(const KnownDataset& known, const std::string& folder);

class DataCache {
 public:
  // `folder` is made when something is kept.
  DataCache(std::string folder, uint64_t limit_bytes)
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}

  const std::string& folder() const { return folder_; }

  // The identity of source files in this state, if it is known.
  std::optional<std::string> IdentityOf(const FolderState& state) const;
  // NotFound when the set is not here; DataLoss when its file is damaged.
  absl::StatusOr<Dataset> Open(const KnownDataset& known, const std::string& identity,
                               ExampleLimits limits) const;

  // The file of a set, whatever its form; in use as long as `holder` is there. NotFound when the
  // set is not here.
  struct Mapped {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> holder;  // shared: by the splits
  };
  absl::StatusOr<Mapped> Map(const std::string& identity) const;
  std::string PathOfSet(const std::string& identity) const;

  // `file` is a CanonicalFile of this identity. Tidies.
  absl::Status Keep(const std::string& identity, std::string_view file) const;
  // Who put the file of this set where PathOfSet says tells so. Makes room: the sets whose last use
  // is the longest ago go first, until all that are left are within the limit or in use.
  void TidyAfter(const std::string& identity) const;
  // A state whose newest file is younger than this cannot be told from a later one.
  static constexpr absl::Duration kTooYoung = absl::Seconds(2);
  // Nothing of a state that is too young; `now`, wall time, is when it was looked at.
  absl::Status Remember(const FolderState& state, const std::string& identity,
                        absl::Time now) const;

 private:
  std::string PathOf(std::string_view name) const { return folder_ + "/" + std::string(name); }

  const std::string folder_;
  const uint64_t limit_bytes_;
};

}  // namespace noisefloor::trainer
